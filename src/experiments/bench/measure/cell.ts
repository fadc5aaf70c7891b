/** One timing: a method at one length, in one of the processes of its cell. */

import {type ProjectionSource, recordOperations} from '../../../attention/index.js'
import {footprint} from '../../../attention/internal.js'
import {type BackendName, bindThreads, useBackend} from '../../../backends/index.js'
import {learnedProjection, tunedCall} from '../../../tuned/call.js'
import type {TunedFile} from '../../../tuned/index.js'
import {computedBy} from '../../computed-by.js'
import type {CellContext, CellOutcome} from '../../experiment.js'
import {featureDimOf, type ResolvedMethod, resolveMethod} from '../../method.js'
import {tunedOf} from '../../tuned-methods.js'
import {layerBytes} from '../cost/layer-costs.js'
import {benchShape, workOf} from '../cost/work.js'
import {copiedBytes} from '../fields/grouped.js'
import type {BenchCell, BenchResult} from '../schema.js'
import {startBreakdown} from './breakdown.js'
import {looking, watchConditions} from './conditions.js'
import {timeDecodeCell} from './decode-cell.js'
import {FEW_CALLS, type Forward, forwardOf, warmCode} from './forward.js'
import {GATE_ROWS, passGate} from './gate.js'
import {modelCell, newSource} from './inputs.js'
import {residentBytes, startPeakMemory} from './memory.js'
import {bestPeak, measurePeak} from './peak.js'
import {runPeerCell} from './peers/peer-cell.js'
import {monotonic, type Others, type TimedCell, timeRuns} from './timing.js'
import {startRunWait} from './waiting.js'
import {whyNotTimed} from './why-not-timed.js'

type Gate = NonNullable<BenchResult['gate']>

/** What this process held before its first trial, in bytes. */
let untouched: number | null | undefined
/** What has passed in its trials. */
const passed = new Map<string, Gate>()

/** Of longer cells the same rows are judged: once. */
async function onceFor(cell: BenchCell, judge: () => Promise<Gate>): Promise<Gate> {
  const {timing: _, lengths: __, ...judged} = cell
  const key = JSON.stringify({...judged, seq_len: Math.min(GATE_ROWS, cell.seq_len)})
  const gate = passed.get(key) ?? (await judge())
  passed.set(key, gate)
  return gate
}

/** Runs one cell of a benchmark, or its part. All of it, and a trial, takes a fresh process: its memory is then the cell's. */
export async function runBenchCell(
  cell: BenchCell,
  context: CellContext = {},
): Promise<CellOutcome<BenchResult>> {
  if (cell.peer) return runPeerCell(cell, context)
  if (cell.engine) return (await import('./engine-cell.js')).runEngineCell(cell, context)
  const {threadShare, part, ...others} = context
  const threads = cell.threads ?? undefined
  const backend = await useBackend(cell.backend, {threads, threadShare})
  const method = await resolveMethod(cell)
  const reason = whyNotTimed(cell, method)
  if (reason) return {status: 'skipped', reason}
  const whole = modelCell(cell)
  const warmCalls = part === 'trial' ? FEW_CALLS : undefined
  // a decode is long enough to warm itself, and a model has memory that counts
  if (cell.mode !== 'decode' && !whole) warmCode({cell, method}, warmCalls)
  await bindThreads(backend.name)
  if (part === 'trial') untouched ??= residentBytes()
  const peakMemory =
    part === 'rest' ? () => null : startPeakMemory(part === 'trial' ? untouched : undefined)
  const tuned = await tunedOf(cell)
  const {source, projection_ns} = whole
    ? NO_SOURCE
    : (learnedSource(tuned) ?? projectionSource(cell, method))
  const before = measurePeak()
  const watch = watchConditions()
  const alone = computedBy(backend).threads === 1 && {runWait: startRunWait}
  const watched = {...others, ...alone, yieldTurn: looking(others.yieldTurn, watch)}
  const {timing, ...measured} = whole
    ? await (await import('./model-cell.js')).timeModelCell(whole, method, watched, warmCalls)
    : cell.mode === 'decode'
      ? await timeDecodeCell(cell, source?.next(), watched)
      : await timeForward({cell, method, source, tuned: callOf(tuned)}, backend.name, watched)
  const conditions = watch.end()
  const peak = peakMemory()
  source?.dispose()
  // once timed, as it leaves traces in what V8 compiles
  const judge = () => passGate(cell, method, backend.name)
  const gate =
    part === 'rest' ? null : part === 'trial' ? await onceFor(cell, judge) : await judge()
  return {
    status: 'completed',
    result: {
      feature_dim: featureDimOf(method, cell, cell.head_dim),
      ...computedBy(backend),
      gate,
      ...timing,
      ...measured,
      conditions,
      projection_ns: measured.projection_ns ?? projection_ns,
      work_flops: measured.work_flops ?? workOf(cell, method),
      fma_peak_gflops: bestPeak([before, measurePeak()]),
      // parts hold features that the whole may never have
      peak_rss_over_baseline_bytes: cell.breakdown ? null : peak,
    },
  }
}

async function timeForward(
  timed: Forward,
  backend: BackendName,
  others: Others,
): Promise<TimedCell> {
  const {cell, method} = timed
  const {forward, tensors, options, dispose} = forwardOf(timed)
  const {operations} = recordOperations(forward)
  const breaking =
    cell.breakdown && tensors && startBreakdown({...drawing(cell, method), tensors, options})
  const timing = await timeRuns(forward, cell.timing, breaking ? breaking.watch(others) : others)
  const breakdown = breaking && {breakdown: breaking.end(timing)}
  dispose()
  const held = footprint(method.estimator, method.options, benchShape(cell), backend)
  const around = copiedBytes(cell) + (cell.mode === 'layer' ? layerBytes(cell).made : 0)
  const live_bytes = around + Math.max(0, held - outputBytes(cell))
  return {operations, timing, live_bytes, ...breakdown}
}

/** How the parts of a call draw: like its own source, once for each of them. */
function drawing(cell: BenchCell, method: ResolvedMethod) {
  const drawsInWhole = cell.redraw === 'call'
  const {projected} = method
  if (!projected || cell.projection === null) return {drawsInWhole}
  return {drawsInWhole, draw: () => newSource({...cell, redraw: 'fixed'}, method)!}
}

function outputBytes({batch, heads, seq_len, value_dim}: BenchCell): number {
  return 4 * batch * heads * seq_len * value_dim
}

/** The learned parameters of the first layer of a file, which stands for all: no time depends on their values. */
function callOf(tuned: TunedFile | undefined) {
  return tuned && tunedCall(tuned, tuned.layers[0]?.layer, 0)
}

/** Learned random vectors in place of drawn ones, if there are any. */
function learnedSource(tuned: TunedFile | undefined) {
  const learned = tuned && learnedProjection(tuned, tuned.layers[0]?.layer, 0)
  return (
    learned && {
      source: {next: () => learned, dispose: () => learned.dispose()},
      projection_ns: null,
    }
  )
}

/** A model draws for each of its layers. */
const NO_SOURCE = {source: undefined, projection_ns: null}

/** Draws what the redraw policy draws once, and times that; the rest is drawn inside the timed region. */
function projectionSource(
  cell: BenchCell,
  method: ResolvedMethod,
): {source: ProjectionSource | undefined; projection_ns: number | null} {
  const start = monotonic()
  const source = newSource(cell, method)
  return {source, projection_ns: source ? monotonic() - start : null}
}
