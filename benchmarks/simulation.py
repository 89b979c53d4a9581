"""The speed of the simulator on one core, with all faults and oracles: steps, and hours of fleets, per second."""

import statistics

from report import Report, quick, rounds

from callboard.testing.simulation import campaign

SEEDS = 40
QUICK_SEEDS = 8
"""Ten seconds per round, or two; fewer seeds say little, because they differ by a factor of ten."""

ROUNDS = 3


def main() -> None:
    """Simulate the same seeds in each round."""
    seeds = range(QUICK_SEEDS if quick() else SEEDS)
    hours: list[float] = []
    effects: list[float] = []

    def simulate() -> float:
        total = campaign(seeds, processes=1)
        hours.append(total.fleet_s / 3600 / total.took_s)
        effects.append(total.performed.total() / total.took_s)
        return total.steps / total.took_s

    steps = rounds(ROUNDS, {"simulate": simulate}, warm_up=False)["simulate"]
    note = f"{len(seeds)} seeds, one process"
    report = Report("simulation")
    report.row("deliveries and effects", steps, unit="steps/s", note=note)
    report.row("effects alone", effects, unit="effects/s", note=note)
    pace = f"{statistics.median(hours) * 3600:.0f} virtual seconds a second"
    report.row("virtual time of a fleet", hours, unit="fleet-hours/s", note=pace)
    report.write()


if __name__ == "__main__":
    main()
