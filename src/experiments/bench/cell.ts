/** One timing: a method at one length, in a process of its own. */
import * as tf from '@tensorflow/tfjs-core'
import {attend, type CallOptions} from '../../attention/attention.js'
import {recordOperations} from '../../attention/kernels/index.js'
import {callNoise} from '../../attention/noise.js'
import {drawProjection, type ProjectionName} from '../../attention/projections/index.js'
import {type BackendChoice, useBackend} from '../../backends/index.js'
import {normals, randomStream} from '../../random/index.js'
import type {BenchCell, BenchResult} from '../../results/schemas/index.js'
import type {CellOutcome} from '../job.js'
import {type ResolvedMethod, resolveMethod, whyNot} from '../method.js'
import {passGate} from './gate.js'
import {startPeakMemory} from './memory.js'
import {timeRuns} from './timing.js'

/** Runs one cell of a benchmark; meant for a fresh process, whose memory is then the cell's. */
export async function runBenchCell(cell: BenchCell): Promise<CellOutcome<BenchResult>> {
  const threads = cell.threads ?? undefined
  const backend = await useBackend(cell.backend as BackendChoice, {threads})
  const method = await resolveMethod(cell)
  const reason = whyNot(method.estimator, {causal: cell.causal, cross: false})
  if (reason) return {status: 'skipped', reason}
  const gate = await passGate(cell, method, backend.name)
  const peakMemory = startPeakMemory()
  const tensors = benchTensors(cell)
  const {projection, projection_ns} = timedProjection(cell, method)
  const options = callOptions(cell, method, projection)
  const forward = () => {
    tf.dispose(tf.tidy(() => attend(...tensors, options).out))
  }
  const {operations} = recordOperations(forward)
  const timing = timeRuns(forward, cell.timing)
  const cost = method.estimator.cost(costShape(cell), method.options)
  return {
    status: 'completed',
    result: {
      feature_dim: method.estimator.featureDim(
        cell.num_features ?? 0,
        cell.head_dim,
        method.options,
      ),
      backend: backend.name,
      instruction_set: backend.instructionSet,
      threads: backend.threads,
      operations,
      gate,
      ...timing,
      projection_ns,
      work_flops: cost.flops,
      live_bytes: cost.liveBytes,
      peak_rss_over_baseline_bytes: peakMemory(),
    },
  }
}

function costShape({batch, heads, seq_len, head_dim, value_dim, num_features, causal}: BenchCell) {
  return {
    batch,
    heads,
    queryLen: seq_len,
    keyLen: seq_len,
    headDim: head_dim,
    valueDim: value_dim,
    numFeatures: num_features ?? 0,
    causal,
  }
}

/** Queries, keys and values N(0, 1) on the current backend. */
function benchTensors(cell: BenchCell): [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D] {
  const {batch, heads, seq_len, head_dim, value_dim, seed} = cell
  const draw = (name: string, dim: number) => {
    const stream = randomStream(seed, `bench.${name}`)
    const values = Float32Array.from(normals(stream, batch * heads * seq_len * dim))
    return tf.tensor4d(values, [batch, heads, seq_len, dim])
  }
  return [draw('query', head_dim), draw('key', head_dim), draw('value', value_dim)]
}

/** Draws the projection outside the timed region, and times the draw by itself. */
function timedProjection(
  cell: BenchCell,
  {projected}: ResolvedMethod,
): {projection: tf.Tensor3D | undefined; projection_ns: number | null} {
  const {projection: name, num_features, heads, head_dim, seed} = cell
  if (!projected || name === null || num_features === null) {
    return {projection: undefined, projection_ns: null}
  }
  const start = process.hrtime.bigint()
  const values = drawProjection({
    name: name as ProjectionName,
    heads,
    numFeatures: num_features,
    headDim: head_dim,
    seed,
  })
  const projection_ns = Number(process.hrtime.bigint() - start)
  const shape: [number, number, number] = [heads, num_features, head_dim]
  return {projection: tf.tensor3d(Float32Array.from(values), shape), projection_ns}
}

/** Projection and noise are drawn before the timed region, as a trained model would have them. */
function callOptions(
  cell: BenchCell,
  {estimator, options}: ResolvedMethod,
  projection: tf.Tensor3D | undefined,
): {method: string} & CallOptions & Record<string, unknown> {
  const {method, preset, causal, num_features, seed} = cell
  const shape = costShape(cell)
  const noise = callNoise(estimator, shape, options, {}, {seed, replicate: 0})
  return {
    ...cell.options,
    method,
    preset,
    causal,
    noise,
    ...(num_features !== null && {numFeatures: num_features}),
    ...(projection && {projection}),
  }
}
