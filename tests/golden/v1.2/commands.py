"""What the bytes beside this file stand for: what version 1.2 added to say for whom commands are. Never changed."""

from callboard.messages.distribution.ledger import Ledger, Watermark
from callboard.messages.distribution.mailbox import CommandReceived, CommandsRead
from callboard.messages.distribution.topic_messages import ClearCommand, CommandMessage, PauseCommand

OTHERS = CommandMessage(subscriber_instance="0b7e", subscriber="edge-1", pause=PauseCommand())

INSTANCES = (
    CommandMessage(
        subscriber_instance="0b7f", subscriber="edge-1", clear=ClearCommand(offset=42), command_id="c-6", position=39
    ),
    Watermark(publisher="site", offset=50, command_id="c-6", command_offset=11, after=47),
    Ledger(instance="0b7f", subscriber="edge-1", void_commands=(OTHERS,)),
    CommandsRead(void=(OTHERS,)),
    CommandReceived(log_id="c0", offset=12, command=OTHERS, time_ns=9, distrust="it is not signed"),
)
