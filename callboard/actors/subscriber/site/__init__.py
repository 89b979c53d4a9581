"""What a relay does for the site whose log it appends to: it tells of its subscribers, and carries
the results of commands up.
"""
