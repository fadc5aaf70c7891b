/** A benchmark as jobs: methods x projections x numbers of features x lengths. */
import {randomStream} from '../../random/index.js'
import {cellKey} from '../../results/keys.js'
import {BENCH_SCHEMA, type BenchCell, type BenchPlan} from '../../results/schemas/index.js'
import {forwardBytes, type Job} from '../job.js'
import {methodLabel, type ResolvedMethod, resolveMethod} from '../method.js'

/** All jobs of a plan, in the order in which they run. */
export async function benchJobs(plan: BenchPlan): Promise<Job[]> {
  const jobs: Job[] = []
  for (const seq_len of plan.seq_lens) {
    for (const spec of plan.methods) {
      const method = await resolveMethod(spec)
      for (const axes of projectionAxes(plan, method)) {
        const {batch, heads, head_dim, value_dim, causal, timing, seed, backend, threads} = plan
        const shape = {batch, heads, head_dim, value_dim, seq_len}
        const cell = {...spec, ...axes, ...shape, causal, timing, seed, backend, threads}
        jobs.push(toJob(cell, method))
      }
    }
  }
  return plan.order === 'random' ? shuffled(jobs, plan.seed) : jobs
}

function projectionAxes(plan: BenchPlan, {random}: ResolvedMethod) {
  if (!random) return [{projection: null, num_features: null}]
  return plan.projections.flatMap(projection =>
    plan.num_features.map(num_features => ({projection, num_features})),
  )
}

function toJob(cell: BenchCell, {estimator, options}: ResolvedMethod): Job {
  const shape = {
    batch: cell.batch,
    heads: cell.heads,
    queryLen: cell.seq_len,
    keyLen: cell.seq_len,
    headDim: cell.head_dim,
    valueDim: cell.value_dim,
  }
  const {causal, num_features, timing} = cell
  const cost = estimator.cost({...shape, numFeatures: num_features ?? 0, causal}, options)
  const random = cell.projection === null ? '' : ` ${cell.projection} M=${num_features}`
  return {
    key: cellKey(BENCH_SCHEMA, cell),
    schema: BENCH_SCHEMA,
    cell,
    label: `${methodLabel(cell)}${random} L=${cell.seq_len}`,
    predictedCost: cost.flops * (timing.warmup_runs + timing.min_runs),
    predictedBytes: forwardBytes(shape, cost),
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
