/** What experiments.ts times: plans, and what the peer is asked for the same. */
import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import type {ErrorSweepPlan} from '../src/experiments/error-sweep/schema.js'
import type {VariancePlan} from '../src/experiments/variance/schema.js'
import {writeArrays} from '../src/inputs/files/index.js'
import {normals, randomStream} from '../src/random/index.js'
import {sweep as sweepPlan, variance as variancePlan} from './calibrate/plans.js'

/** One experiment, for both engines. */
export interface ExperimentCase {
  name: string
  plan: ErrorSweepPlan | VariancePlan
  /** As arguments of the program. */
  argv: readonly string[]
  /** What the peer is asked; it adds threads. */
  request: Readonly<Record<string, unknown>>
  /** Ratio that is wanted, of a replicate or of the whole. */
  wanted: number
  wantedOf: 'replicate' | 'whole'
}

/** Standard deviation of queries and keys. */
const SCALE = 0.5
const HEAD_DIM = 64

/** Sizes of a sweep. */
interface Sweep {
  heads: number
  length: number
  projection: 'iid' | 'orth'
  numFeatures: number
  replicates: number
}

/** The cases in the order of the table, with their inputs in a folder that `dispose` removes. */
export async function experimentCases(): Promise<{
  cases: ExperimentCase[]
  dispose(): Promise<void>
}> {
  const folder = await mkdtemp(join(tmpdir(), 'rfa-experiments-'))
  const small = {heads: 4, length: 512, replicates: 100}
  const cases = [
    await sweepCase(folder, {...small, projection: 'iid', numFeatures: 64}, 3),
    await sweepCase(folder, {...small, projection: 'orth', numFeatures: 256}, 5),
    await sweepCase(
      folder,
      {heads: 8, length: 4096, replicates: 10, projection: 'iid', numFeatures: 256},
      4,
    ),
    varianceCase(8),
  ]
  return {cases, dispose: () => rm(folder, {recursive: true, force: true})}
}

/** The smallest plan: what starting takes. */
export const TINY_ARGV = [
  ...['error-sweep', '--generator', 'gaussian', '--heads', '1', '--seq-len', '16'],
  ...['--head-dim', '8', '--methods', 'favor-pos', '--projections', 'iid'],
  ...['--num-features', '8', '--replicates', '1'],
]

async function sweepCase(folder: string, sweep: Sweep, wanted: number): Promise<ExperimentCase> {
  const {heads, length, projection, numFeatures, replicates} = sweep
  const path = join(folder, `${heads}x${length}.npz`)
  await writeInput(path, heads, length)
  const {plan} = sweepPlan('favor-pos', {
    input: {kind: 'file', paths: [path], names: {query: 'q', key: 'k', value: 'v'}},
    ...{projections: [projection], num_features: [numFeatures], seq_lens: null, replicates},
    targets: ['raw'],
  })
  const name = `error-sweep ${heads} x ${length}, M = ${numFeatures} ${projection}, ${replicates} replicates`
  const argv = [
    ...['error-sweep', '--input', path, '--methods', 'favor-pos', '--projections', projection],
    ...['--num-features', `${numFeatures}`, '--replicates', `${replicates}`],
  ]
  const request = {experiment: 'error-sweep', path, projection, numFeatures, replicates}
  const wantedOf = replicates >= 100 ? 'replicate' : 'whole' // few replicates: the exact output counts
  return {name, plan, argv, request, wanted, wantedOf}
}

/** Gaussian queries and keys of {@link SCALE}, and values, `[H, L, D]`. */
async function writeInput(path: string, heads: number, length: number): Promise<void> {
  const array = (name: string, scale: number) => ({
    shape: [heads, length, HEAD_DIM],
    dtype: 'float32' as const,
    data: Float32Array.from(
      normals(randomStream(0, `bench.${name}`), heads * length * HEAD_DIM),
      x => scale * x,
    ),
  })
  await writeArrays(path, {q: array('q', SCALE), k: array('k', SCALE), v: array('v', 1)})
}

function varianceCase(wanted: number): ExperimentCase {
  const [norms, angles] = [
    [0.5, 1],
    [0, 90, 180],
  ]
  const [numFeatures, replicates] = [64, 2000]
  const {plan} = variancePlan('favor-pos', {
    ...{num_features: [numFeatures], norms, angles_deg: angles, replicates},
  })
  const argv = [
    ...['variance', '--methods', 'favor-pos', '--projections', 'iid,orth'],
    ...['--norms', norms.join(), '--angles', angles.join(), '--head-dim', `${HEAD_DIM}`],
    ...['--num-features', `${numFeatures}`, '--replicates', `${replicates}`],
  ]
  const request = {
    ...{experiment: 'variance', projections: ['iid', 'orth'], norms, angles},
    ...{headDim: HEAD_DIM, numFeatures, replicates},
  }
  const name = `variance 3 angles x 2 norms x iid, orth, M = ${numFeatures}, ${replicates} draws`
  return {name, plan, argv, request, wanted, wantedOf: 'whole'}
}
