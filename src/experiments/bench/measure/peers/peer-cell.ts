/** One timing of a peer: a method as it has it, in a process that it shares with other cells. */
import {availableParallelism} from 'node:os'
import {hostData} from '../../../../attention/internal.js'
import {useBackend} from '../../../../backends/index.js'
import type {CellContext, CellOutcome} from '../../../experiment.js'
import {featureDimOf, type ResolvedMethod, resolveMethod} from '../../../method.js'
import {workOf} from '../../cost/work.js'
import {peerParts, whyNoPeer} from '../../fields/peers.js'
import type {BenchCell, BenchResult} from '../../schema.js'
import {looking, watchConditions} from '../conditions.js'
import {DECODE_TOKENS, decodeTokens} from '../decode-cell.js'
import {type GateArrays, passGateBy} from '../gate.js'
import {benchArrays, newSource} from '../inputs.js'
import {bestPeak, measurePeak} from '../peak.js'
import {type Others, timeMeasured} from '../timing.js'
import {startWaiting} from '../waiting.js'
import {whyNotTimed} from '../why-not-timed.js'
import {
  type MadeCase,
  type Peer,
  type PeerCase,
  type PeerInputs,
  peerCommand,
  startPeer,
} from './peer-process.js'

/** Rows of the prefix that is checked: causal forms of peers go by chunks of 128. */
const GATE_ROWS = 160

/** Runs the cell of a peer; what it computes is judged here first. */
export async function runPeerCell(
  cell: BenchCell,
  {threadShare, process = 0, ...others}: CellContext,
): Promise<CellOutcome<BenchResult>> {
  const name = cell.peer!
  // the judge's; nothing of ours is timed
  await useBackend('cpu')
  const method = await resolveMethod(cell)
  const reason = whyNoPeer(name, cell, method.estimator.python) ?? whyNotTimed(cell, method)
  if (reason) return {status: 'skipped', reason}
  const threads = cell.threads ?? threadShare ?? availableParallelism()
  const peer = await sharedPeer(name, threads)
  const {version, python, instruction_set} = peer.facts
  // its other processes run the same code
  const gate = process === 0 ? await passPeerGate(peer, {cell, method}) : null
  const found = await timePeer(peer, {cell, method}, others)
  const computedBy = {backend: name, instruction_set, threads, processes: 1}
  return {status: 'completed', result: {...computedBy, peer: {version, python}, gate, ...found}}
}

/** Peers of this process, by names and threads; each ends when its input does, with this process at the latest. */
const peers = new Map<string, Promise<Peer>>()

/** The peer of all cells of this process; a new one where there is none, or none any more. */
function sharedPeer(name: string, threads: number): Promise<Peer> {
  const start = () => startPeer(peerCommand(name, threads))
  const which = `${name} ${threads}`
  const peer =
    peers.get(which)?.then(running => (running.alive ? running : start()), start) ?? start()
  peers.set(which, peer)
  return peer
}

/** What is measured of a peer. */
type Found = Omit<
  BenchResult,
  'backend' | 'instruction_set' | 'threads' | 'processes' | 'peer' | 'gate'
>

interface PeerTask {
  cell: BenchCell
  method: ResolvedMethod
}

function passPeerGate(peer: Peer, {cell, method}: PeerTask) {
  return passGateBy(cell, method, {
    ...{name: `${cell.method} of ${cell.peer}`, backend: 'cpu', most: GATE_ROWS},
    run: (arrays, rows) => gateOutput(peer, {cell, method}, arrays, rows),
  })
}

async function timePeer(peer: Peer, {cell, method}: PeerTask, others: Others): Promise<Found> {
  const made = await peer.make(caseOf(cell, method), inputsOf(cell, method))
  const found = await whileHeld(made, async () => {
    const before = measurePeak()
    const watch = watchConditions()
    const timing = await timeMeasured(
      (counts, left) => made.time(counts ? left() : {runs: 1, ns: 0}),
      cell.timing,
      {
        ...others,
        yieldTurn: looking(others.yieldTurn, watch),
        waiting: () => startWaiting(`/proc/${peer.pid}/task`),
      },
    )
    const fma_peak_gflops = bestPeak([before, measurePeak()])
    return {...timing, conditions: watch.end(), fma_peak_gflops}
  })
  return {
    feature_dim: featureDimOf(method, cell, cell.head_dim),
    operations: {},
    ...found,
    live_bytes: null,
    projection_ns: null,
    // no one counts what an attention in Python does
    work_flops: method.estimator.python && !method.estimator.features ? 0 : workOf(cell, method),
    // the process holds what other cells have made, too
    peak_rss_over_baseline_bytes: null,
  }
}

/** Works with a case, and drops it. */
async function whileHeld<T>(made: MadeCase, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    await made.drop()
  }
}

/** What a peer makes of one head. */
async function gateOutput(
  peer: Peer,
  {cell, method}: PeerTask,
  arrays: GateArrays,
  rows: number,
): Promise<Float32Array> {
  const one = {...cell, batch: 1, heads: 1, seq_len: rows}
  const inputs: PeerInputs = {...arrays, projection: projectionOf(one, method)}
  const made = await peer.make({...caseOf(one, method), tokens: rows}, inputs)
  return whileHeld(made, () => made.output())
}

function inputsOf(cell: BenchCell, method: ResolvedMethod): PeerInputs {
  const projection = projectionOf(cell, method)
  if (cell.mode !== 'decode') return {...benchArrays(cell), projection}
  const {query, key, value} = decodeTokens(cell)
  return {...{query: query.data, key: key.data, value: value.data}, projection}
}

/** `[H, M, D]`; `undefined` for a method without. */
function projectionOf(cell: BenchCell, method: ResolvedMethod): Float32Array | undefined {
  const source = newSource(cell, method)
  if (!source) return undefined
  return hostData(() => ({projection: source.next()})).projection as Float32Array
}

/** The case of a cell, with the file that has its method. */
function caseOf(cell: BenchCell, {estimator, options}: ResolvedMethod): PeerCase {
  const {python} = estimator
  if (!python) return peerCaseOf(cell)
  const {path, library} = python
  return {...peerCaseOf(cell), file: {path, library, options}}
}

export function peerCaseOf({seq_len, peer = '', ...cell}: BenchCell): PeerCase {
  const {method, causal, batch, heads, head_dim, value_dim} = cell
  const decode = cell.mode === 'decode'
  const sizes = {batch, heads, head_dim, value_dim, num_features: cell.num_features ?? 0}
  const lengths = {length: seq_len, tokens: decode ? DECODE_TOKENS : seq_len}
  return {method, form: peerParts(peer).form, decode, causal, ...sizes, ...lengths}
}
