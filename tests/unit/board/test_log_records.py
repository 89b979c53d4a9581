from callboard.board.read.log.log_records import in_a_line, opened
from callboard.messages.distribution.topic_messages import ArchivedMessage, ArchivedTopic
from callboard.messages.headers import new_record


def test_the_announcement_of_an_archive_is_shown_on_one_line_and_not_as_damaged() -> None:
    word = ArchivedMessage(topics=(ArchivedTopic(topic="board.package", next=7),), place="./arch", time_ns=1)
    record = new_record(word, record_id="1", time_ns=1, producer="archive").at(4, 1)
    line = in_a_line(record, opened(record))
    assert (line.about, line.problem) == ("archived: board.package below 7", "")
