"""Tables that are folds over topics."""
