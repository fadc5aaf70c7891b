/** What cells have in common. */
export interface SharedCost {
  /** In the cost of the first of them, and of no other. */
  cost: number
  /** How many of them come before this one. */
  rank: number
}

/** What a cell computes for others, too. */
export function costForOthers(shared: readonly SharedCost[] = []): number {
  return shared.reduce((sum, {cost, rank}) => sum + (rank === 0 ? cost : 0), 0)
}

/** What a cell computes as others do at the same time, of so many processes. */
export function repeatedCost(shared: readonly SharedCost[] = [], processes: number): number {
  return shared.reduce((sum, {cost, rank}) => sum + (rank > 0 && rank < processes ? cost : 0), 0)
}
