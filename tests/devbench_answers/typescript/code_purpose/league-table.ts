import assert from 'assert';

/** Result of one match of a village curling league. */
interface Match {
  readonly home: string;
  readonly away: string;
  readonly stones: readonly [number, number];
  /** A match that one side did not show up for: its points count, its stones do not. */
  readonly walkover?: boolean;
}

interface Row {
  readonly team: string;
  readonly points: number;
  readonly difference: number;
}

class League {
  private readonly matches: Match[] = [];

  constructor(private readonly teams: readonly string[]) {}

  record(match: Match): void {
    for (const team of [match.home, match.away]) {
      if (!this.teams.includes(team)) throw new RangeError(`${team} does not play in this league`);
    }
    this.matches.push(match);
  }

  private playedBy(team: string): Match[] {
    return this.matches.filter(({ home, away }) => home === team || away === team);
  }

  /** Stones of the team minus those of its opponent. */
  private margin(team: string, match: Match): number {
    const [home, away] = match.stones;
    return team === match.home ? home - away : away - home;
  }

  /** Two points for a victory, one for a draw. */
  points(team: string): number {
    return this.playedBy(team)
      .map((match) => Math.sign(this.margin(team, match)) + 1)
      .reduce((sum, won) => sum + won, 0);
  }

  difference(team: string): number {
    return ⟦this.playedBy(team)
      .filter((match) => !match.walkover)
      .reduce((sum, match) => sum + this.margin(team, match), 0);⟧
  }

  /** The teams from the first to the last: by points, then by difference, then by name. */
  table(): Row[] {
    const rows = this.teams.map((team) => ({ team, points: this.points(team), difference: this.difference(team) }));
    return rows.sort(
      (one, other) =>
        other.points - one.points || other.difference - one.difference || one.team.localeCompare(other.team),
    );
  }
}
⟦tests⟧
const league = new League(['Ash', 'Birch', 'Cedar', 'Dogwood']);
assert.deepStrictEqual(league.table().map(({ team }) => team), ['Ash', 'Birch', 'Cedar', 'Dogwood']);
assert.strictEqual(league.difference('Ash'), 0);
league.record({ home: 'Birch', away: 'Ash', stones: [7, 3] });
league.record({ home: 'Ash', away: 'Cedar', stones: [5, 5] });
league.record({ home: 'Dogwood', away: 'Birch', stones: [0, 8], walkover: true });
league.record({ home: 'Cedar', away: 'Dogwood', stones: [2, 6] });
league.record({ home: 'Dogwood', away: 'Ash', stones: [4, 5], walkover: false });
assert.deepStrictEqual(league.table(), [
  { team: 'Birch', points: 4, difference: 4 },
  { team: 'Ash', points: 3, difference: -3 },
  { team: 'Dogwood', points: 2, difference: 3 },
  { team: 'Cedar', points: 1, difference: -4 },
]);
assert.throws(() => league.record({ home: 'Elm', away: 'Ash', stones: [1, 0] }), RangeError);
assert.strictEqual(league.difference('Elm'), 0);
