/** A benchmark as jobs: methods x projections x numbers of features x lengths. */
import type {MeteredBackend} from '../../attention/internal.js'
import {meteredBackend} from '../../backends/index.js'
import {randomStream} from '../../random/index.js'
import {cellKey} from '../../results/keys.js'
import {BENCH_SCHEMA, type BenchCell, type BenchPlan} from '../../results/schemas/index.js'
import type {Job} from '../job.js'
import {drawAxes, methodLabel, type ResolvedMethod, resolveMethod} from '../method.js'
import {benchProcessBytes} from '../process-memory.js'

/** All jobs of a plan, in the order in which they run. */
export async function benchJobs(plan: BenchPlan): Promise<Job[]> {
  const backend = await meteredBackend(plan.backend)
  return (await benchPoints(plan)).map(({cell, method}) => toJob(cell, method, backend))
}

/** A cell of the grid with the method that it runs. */
interface Point {
  cell: BenchCell
  method: ResolvedMethod
}

/** The whole grid, in the order in which it runs. */
export async function benchPoints(plan: BenchPlan): Promise<Point[]> {
  const points: Point[] = []
  for (const seq_len of plan.seq_lens) {
    for (const spec of plan.methods) {
      const method = await resolveMethod(spec)
      for (const {replicates: _one, ...axes} of drawAxes(method, {...plan, replicates: 1})) {
        const {batch, heads, head_dim, value_dim, causal, timing, seed, backend, threads} = plan
        const cell = {
          ...spec,
          ...axes,
          redraw: axes.projection === null ? 'fixed' : plan.redraw,
          ...{batch, heads, head_dim, value_dim, seq_len},
          causal,
          timing,
          seed,
          backend,
          threads,
        }
        points.push({cell, method})
      }
    }
  }
  return plan.order === 'random' ? shuffled(points, plan.seed) : points
}

function toJob(cell: BenchCell, method: ResolvedMethod, backend: MeteredBackend): Job {
  const {causal, num_features, timing} = cell
  const shape = {
    batch: cell.batch,
    heads: cell.heads,
    queryLen: cell.seq_len,
    keyLen: cell.seq_len,
    headDim: cell.head_dim,
    valueDim: cell.value_dim,
    numFeatures: num_features ?? 0,
    causal,
  }
  const cost = method.estimator.cost(shape, method.options)
  const runs = timing.warmup_runs + timing.min_runs
  const drawn = [cell.projection ?? [], num_features === null ? [] : `M=${num_features}`].flat()
  return {
    key: cellKey(BENCH_SCHEMA, cell),
    schema: BENCH_SCHEMA,
    cell,
    label: [methodLabel(cell), ...drawn, `L=${cell.seq_len}`].join(' '),
    predictedCost: cost.flops * runs,
    predictedBytes: benchProcessBytes({backend, method, shape}, runs),
  }
}

/** Fisher-Yates by the plan's seed: slow drift of the machine then hits all methods alike. */
function shuffled<T>(items: T[], seed: number): T[] {
  const stream = randomStream(seed, 'bench.order')
  const out = [...items]
  for (let i = out.length - 1; i > 0; i--) {
    const j = stream.integer(i + 1)
    ;[out[i], out[j]] = [out[j]!, out[i]!]
  }
  return out
}
