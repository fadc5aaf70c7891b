import type {TestedClaim} from '../../src/claims/claim.js'
import {claimNamed} from '../../src/claims/claims/index.js'
import {outcomes} from '../../src/claims/outcome.js'
import {ClaimRuns} from '../../src/claims/runs.js'
import {errorSweepGrid} from '../../src/experiments/error-sweep/grid.js'
import type {
  CompletedSweep,
  ErrorSweepCell,
  ErrorSweepPlan,
} from '../../src/experiments/error-sweep/schema.js'
import type {VariancePlan} from '../../src/experiments/variance/schema.js'
import {normals, randomStream} from '../../src/random/index.js'
import type {CellRecord} from '../../src/results/record.js'
import {metric, NO_METRICS, STATISTICS, sweep} from './records/error-sweep.js'

export type Plans = Record<string, ErrorSweepPlan | VariancePlan>

/** What is true of a cell. */
export interface Truth {
  /** Squared error, in the middle of replicates. */
  mse?: number
  /** Standard deviation of its logarithm. */
  spread?: number
  /** Bias^2 and its standard error. */
  bias?: [number, number]
  norm2?: number
  replicates?: number
}

export async function claimOf(id: string): Promise<TestedClaim> {
  return (await claimNamed(id)) as TestedClaim
}

/** Records of a plan as they come out where `truthOf` is what is true of each cell. */
async function recordsOf(
  plan: ErrorSweepPlan,
  truthOf: (cell: ErrorSweepCell) => Truth,
): Promise<CompletedSweep[]> {
  const records: CompletedSweep[] = []
  for (const cell of (await errorSweepGrid(plan)).cells()) {
    records.push(recordOf(cell, truthOf(cell), records.length))
  }
  return records
}

function recordOf(
  cell: ErrorSweepCell,
  {mse = 1, spread = 0.1, bias = [0, 1], norm2 = 1, replicates = cell.replicates}: Truth,
  index: number,
): CompletedSweep {
  const noise = normals(randomStream(5, 'test.claims', index), replicates)
  const errors = Array.from(noise, x => mse * Math.exp(spread * x))
  return sweep(cell, {
    mse: metric(mse),
    rel_l2: metric(Math.sqrt(mse)),
    bias_squared: bias[0],
    bias_squared_standard_error: bias[1],
    statistics: {...STATISTICS, query_norm2: norm2, key_norm2: norm2},
    replicate_metrics: {
      ...NO_METRICS,
      ...{mse: errors, rel_l2: errors.map(Math.sqrt), head_mse: [errors, errors]},
    },
  })
}

export async function outcomeOf(id: string, truthOf: (cell: ErrorSweepCell) => Truth, others = {}) {
  const claim = await claimOf(id)
  const plans = (await claim.plans({effort: 'quick', seed: 0})) as Plans
  const runs = new Map<string, CellRecord[]>(Object.entries(others))
  for (const [name, plan] of Object.entries(plans)) {
    if (plan.experiment === 'error-sweep') runs.set(name, await recordsOf(plan, truthOf))
  }
  const [found] = await outcomes([claim], new ClaimRuns(runs), () => [])
  return found!
}

export const dimOf = ({input}: ErrorSweepCell) => (input.kind === 'generator' ? input.head_dim : 0)
export const dataOf = ({input}: ErrorSweepCell) =>
  input.kind === 'generator' ? input.name : input.paths[0]!
