"""The roles in a member agent: the addresses by which its actors send mail to each other."""

VIEW_KEEPER = "view_keeper"
RENEWER = "renewer"
PROPOSER = "proposer"
