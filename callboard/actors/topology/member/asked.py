"""What the service asks of the renewer: which message carries it out, and when it is answered."""

from dataclasses import dataclass

from callboard.actors.topology.member.settings import MemberSettings
from callboard.errors import Undecodable
from callboard.messages.event import Event
from callboard.messages.topology.cluster_state import ClusterState
from callboard.messages.topology.control_messages import AckMessage, PropertiesMessage
from callboard.messages.topology.limits import check_properties
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.member_mail import (
    Acknowledged,
    AcknowledgeView,
    ChangeProperties,
    LeaveCluster,
    LeftCluster,
    PropertiesChanged,
)

LOST = -1
"""Instead of the ``seq`` of a message that may be lost: it is repeated once everything said since then is read back."""


@dataclass(slots=True)
class Asked:
    """A question of the service, and the ``seq`` of the message that carries it out; 0 for none yet, or ``LOST``."""

    question: AcknowledgeView | ChangeProperties | LeaveCluster
    seq: int = 0

    def message(self, settings: MemberSettings, state: ClusterState) -> MemberEvent | None:
        """The message to append, unless it has been, or cannot be yet."""
        by, view = settings.by(), state.view
        match self.question:
            case AcknowledgeView(epoch=epoch) if self.seq <= 0 and epoch == view.epoch:
                return AckMessage(**by, epoch=epoch, state_hash=view.state_hash)
            case ChangeProperties(set=pairs, unset=unset) if self.seq <= 0:
                return PropertiesMessage(**by, set=pairs, unset=unset)
        return None

    def answer(self, settings: MemberSettings, state: ClusterState) -> Event | None:
        """The answer of a member, as soon as there is one."""
        me = state.member(settings.instance)
        assert me is not None
        match self.question:
            case AcknowledgeView(epoch=epoch) if me.acked == epoch or state.view.epoch > epoch:
                return Acknowledged(epoch=epoch)
            case ChangeProperties() if 0 < self.seq <= me.seq:
                return PropertiesChanged(offset=me.properties_offset)
            case ChangeProperties(set=pairs, unset=unset):
                kept = {name: value for name, value in me.properties if name not in unset}
                try:
                    check_properties(tuple((kept | dict(pairs)).items()))
                except Undecodable as error:
                    return PropertiesChanged(problem=str(error))
        return None

    def farewell(self, epoch: int, detail: str) -> Event | None:
        """The answer of one that is no member, and will not become one."""
        match self.question:
            case LeaveCluster():
                return LeftCluster(epoch=epoch)
            case ChangeProperties():
                return PropertiesChanged(problem=detail)
            case AcknowledgeView(epoch=asked):
                return Acknowledged(epoch=asked)
