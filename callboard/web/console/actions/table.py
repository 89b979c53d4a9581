"""All actions, by name."""

from callboard.web.console.actions import jobs, members, subscribers

ACTIONS = {each.name: each for each in (*subscribers.ACTIONS, *members.ACTIONS, *jobs.ACTIONS)}
