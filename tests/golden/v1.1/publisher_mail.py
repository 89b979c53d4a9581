"""What the bytes beside this file stand for, of publisher_mail.py. Written once, never changed."""

from callboard.messages.distribution.publisher_mail import CommandResultQuery, Counter, Counters, CountersQuery

INSTANCES = (
    CountersQuery(),
    Counter(name="requests_accepted", value=17),
    Counters(counters=(Counter(name="requests_accepted", value=17), Counter(name="requests_refused", value=2))),
    CommandResultQuery(command_id="c-5"),
)
