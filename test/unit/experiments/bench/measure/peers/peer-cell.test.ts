/** Peers of a benchmark, by a stand-in for Python that answers as python/rfa_peers.py does, or as it must not. */
import {EventEmitter, once} from 'node:events'
import {existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest'
import bench from '../../../../../../src/experiments/bench/index.js'
import {runBenchCell} from '../../../../../../src/experiments/bench/measure/cell.js'
import {peerCaseOf} from '../../../../../../src/experiments/bench/measure/peers/peer-cell.js'
import {
  type PeerCase,
  peerCommand,
  startPeer,
} from '../../../../../../src/experiments/bench/measure/peers/peer-process.js'
import {
  type BenchCell,
  type BenchPlan,
  type BenchResult,
  benchCell,
  benchPlan,
  benchResult,
} from '../../../../../../src/experiments/bench/schema.js'
import {packageRoot} from '../../../../../../src/package.js'
import {benchCells, benchJobs} from '../../../../../helpers/cells.js'
import {FULL} from '../../../../../helpers/effort.js'
import {method, bench as plan} from '../../../../../helpers/plans.js'

const FAKE = join(packageRoot(), 'test', 'helpers', 'fake-python.mjs')

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rfa-test-peer-'))
  vi.stubEnv('RFA_PYTHON', FAKE)
  vi.stubEnv('RFA_FAKE_PYTHON_PIDS', join(folder, 'pids'))
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await endPeers()
  rmSync(folder, {recursive: true})
})

const peerPlan = (changes: Partial<BenchPlan> = {}) =>
  benchPlan.parse(plan({peers: ['torch'], methods: [method('softmax')], ...changes}))

async function cellsOf(changes: Partial<BenchPlan> = {}): Promise<BenchCell[]> {
  return await benchCells(peerPlan(changes))
}

async function peerCell(changes: Partial<BenchPlan> = {}): Promise<BenchCell> {
  return (await cellsOf({seq_lens: [32], ...changes})).find(({peer}) => peer)!
}

const behaving = (how: string) => vi.stubEnv('RFA_FAKE_PYTHON', how)

/** Those that were started. */
function pids(): number[] {
  const file = join(folder, 'pids')
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(Number) : []
}

/** Whether each of them is still there. */
function started(): boolean[] {
  return pids().map(pid => send(pid, 0))
}

/** Ends them, so that no cell of another test finds one. */
async function endPeers(): Promise<void> {
  for (const pid of pids()) send(pid, 'SIGKILL')
  await expect.poll(started).not.toContain(true)
}

/** @returns whether there is such a process */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

describe('cells of peers', () => {
  it('stand beside those of the methods, which stay what they were', async () => {
    const [cells, alone] = [await cellsOf(), await cellsOf({peers: undefined})]
    expect(cells.filter(({peer}) => !peer)).toEqual(alone)
    const peers = cells.filter(({peer}) => peer)
    expect(peers).toEqual(alone.map(cell => ({...cell, backend: 'auto', peer: 'torch'})))
    expect(benchCell.parse(peers[0])).toEqual(peers[0])
  })

  it('are the same whatever the backends, once each, without parts', async () => {
    const of = async (changes: Partial<BenchPlan>) =>
      (await cellsOf(changes)).filter(({peer}) => peer)
    const one = await of({})
    expect(await of({backend: ['wasm', 'cpu'], breakdown: true})).toEqual(one)
  })

  it('are told by their name, and hold Python', async () => {
    const [own, other] = await benchJobs(peerPlan({seq_lens: [32]}))
    expect([own!.label, other!.label]).toEqual(['softmax L=32', 'softmax on torch L=32'])
    expect(other!.predictedBytes - own!.predictedBytes).toBeGreaterThan(2 ** 28)
  })
})

describe('a peer that computes', () => {
  it.each([false, true])('is judged, then timed in its turns; causal %s', async causal => {
    const timing = {warmup_runs: 2, min_runs: 6, max_runs: 12, min_time_ns: 0}
    const cell = await peerCell({causal, timing, seq_lens: [200], batch: 2, heads: 2})
    let turns = 0
    const outcome = await runBenchCell(
      {...cell, threads: 3},
      {
        yieldTurn: async () => {
          turns++
          return 'after others'
        },
      },
    )
    const result = benchResult.parse((outcome as {result: unknown}).result)
    expect(result).toMatchObject({
      ...{backend: 'torch', instruction_set: 'FAKE', threads: 3, live_bytes: null},
      ...{peer: {version: '9.9.9', python: '3.99.0'}, gate: {rows: 160}},
    })
    expect(result.gate!.max_abs_error).toBeLessThan(result.gate!.bound)
    expect(result.runs).toBe(result.samples_ns.length)
    expect(result.runs).toBeGreaterThanOrEqual(6)
    expect(result.runs).toBeLessThanOrEqual(12)
    expect(turns).toBe(result.turn_runs.length)
    expect(result.min_ns).toBe(200_000)
    expect(result.peak_rss_over_baseline_bytes).toBeNull()
  })

  it('decodes in a form of its own, judged like a causal forward', async () => {
    const [own] = await cellsOf({mode: 'decode', peers: undefined, seq_lens: [40]})
    const cell = {...own!, backend: 'auto' as const, peer: 'torch sdpa'}
    const {length, tokens, form, decode} = peerCaseOf(cell)
    expect({length, tokens, form, decode}).toEqual({
      ...{length: 40, tokens: 16, form: 'sdpa', decode: true},
    })
    const outcome = await runBenchCell(cell)
    const result = benchResult.parse((outcome as {result: unknown}).result)
    expect(result).toMatchObject({backend: 'torch sdpa', gate: {rows: 40}, min_ns: 40_000})
    expect(result.marks).toBeUndefined()
  })

  it('takes part in forwards of attention alone', () => {
    const asked = plan({peers: ['torch'], methods: [method('softmax')], mode: 'decode'})
    expect(benchPlan.safeParse(asked).error?.message).toContain('expected no peers with a mode')
  })

  it('is left out of what it does not have, and says so', async () => {
    const skipped = async (changes: Partial<BenchPlan>) => runBenchCell(await peerCell(changes))
    expect(await skipped({methods: [method('lara')]})).toEqual({
      status: 'skipped',
      reason: expect.stringContaining('torch is timed with softmax, softmax-online, favor-pos'),
    })
    expect(await skipped({methods: [method('rfa', {tau: 2})]})).toMatchObject({
      reason: 'torch has it with its default options only',
    })
    expect(await skipped({methods: [method('rfa')], redraw: 'call'})).toMatchObject({
      reason: 'torch is timed with fixed projections only',
    })
  })
})

/** A cell that gives up its turn, and waits until it is told to go on. */
function waitingCell(cell: BenchCell) {
  const signs = new EventEmitter()
  const yielded = once(signs, 'waiting')
  const turn = once(signs, 'turn').then(() => 'after others' as const)
  const yieldTurn = () => {
    signs.emit('waiting')
    return turn
  }
  const end = runBenchCell(cell, {yieldTurn})
  return {waiting: Promise.race([yielded, end]), goOn: () => signs.emit('turn'), end}
}

describe('a process of a peer', () => {
  const timing = {warmup_runs: 1, min_runs: 6, max_runs: 6, min_time_ns: 0}
  const ofLength = (length: number) => peerCell({timing, threads: 1, seq_lens: [length]})
  const yieldTurn = async () => 'after others' as const

  it('serves cells at once and one after the other, and holds no more than their cases', async () => {
    behaving('crammed')
    const cells = await Promise.all([32, 64].map(ofLength))
    for (const which of ['first', 'later']) {
      const outcomes = await Promise.all(cells.map(cell => runBenchCell(cell, {yieldTurn})))
      const results = outcomes.map(outcome => (outcome as {result: BenchResult}).result)
      expect(
        results.map(({min_ns, runs}) => [min_ns, runs]),
        which,
      ).toEqual([
        [32_000, 6],
        [64_000, 6],
      ])
    }
    expect(started()).toEqual([true])
  })

  it('is that of cells with so many threads', async () => {
    const cell = await ofLength(32)
    for (const threads of [1, 2, 1]) await runBenchCell({...cell, threads})
    expect(started()).toEqual([true, true])
  })

  it('fails the cells that use it when it dies, and no others; the next has a new one', async () => {
    const cell = await ofLength(32)
    const other = waitingCell({...cell, threads: 2})
    await other.waiting
    behaving('crash')
    const failing = await Promise.allSettled(
      [cell, await ofLength(64)].map(one => runBenchCell(one)),
    )
    for (const end of failing) {
      const message = 'peer torch: ended: Fatal Python error: Segmentation fault'
      expect(end).toMatchObject({status: 'rejected', reason: {code: 'CELL_CRASHED', message}})
    }
    behaving('right')
    await expect(runBenchCell(cell)).resolves.toMatchObject({status: 'completed'})
    other.goOn()
    await expect(other.end).resolves.toMatchObject({status: 'completed'})
    expect(started()).toEqual([true, false, true])
  })

  it('fails a cell that waits for its turn meanwhile', async () => {
    const cell = await ofLength(32)
    const first = waitingCell(cell)
    await first.waiting
    await endPeers()
    await expect(runBenchCell(cell)).resolves.toMatchObject({status: 'completed'})
    first.goOn()
    await expect(first.end).rejects.toMatchObject({message: 'peer torch: ended'})
    expect(started()).toEqual([false, true])
  })

  it('is given its threads before it loads anything', () => {
    expect(peerCommand('torch', 2).env).toMatchObject({OMP_NUM_THREADS: '2', OMP_PLACES: 'cores'})
    expect(peerCommand('torch', 1).env).toMatchObject({OMP_NUM_THREADS: '1'})
  })

  it('holds cases by themselves, and frees what is dropped', async () => {
    const peer = await startPeer(peerCommand('torch', 1))
    const given: PeerCase = {
      ...{method: 'softmax', decode: false, causal: false, batch: 1, heads: 1, num_features: 0},
      ...{length: 1, tokens: 1, head_dim: 1, value_dim: 1},
    }
    const valued = (value: number) =>
      peer.make(given, {
        query: Float32Array.of(1),
        key: Float32Array.of(1),
        value: Float32Array.of(value),
      })
    const [three, five] = await Promise.all([valued(3), valued(5)])
    const asked = [five.output(), three.output(), three.drop(), three.output(), five.output()]
    expect(await Promise.allSettled(asked)).toMatchObject([
      {value: Float32Array.of(5)},
      {value: Float32Array.of(3)},
      {status: 'fulfilled'},
      {reason: {code: 'CELL_CRASHED', message: 'peer torch: KeyError: 1'}},
      {value: Float32Array.of(5)},
    ])
    peer.stop()
    await expect(five.output()).rejects.toMatchObject({message: 'peer torch: ended'})
    await expect(five.drop()).resolves.toBeUndefined()
  })
})

describe('a peer that does not', () => {
  it.each([
    ['wrong', 'GATE_FAILED', /softmax of torch: expected an error of at most/, 'stays'],
    ['error', 'CELL_CRASHED', /peer torch: RuntimeError: out of fake memory/, 'stays'],
    ['crash', 'CELL_CRASHED', /peer torch: ended: Fatal Python error: Segmentation fault/, 'ends'],
    [
      'garbage',
      'CELL_CRASHED',
      /expected an answer in JSON, got "Warning: something else"/,
      'ends',
    ],
    ['nonsense', 'CELL_CRASHED', /expected another answer, got {"ns":\[-1\]}/, 'ends'],
  ])('fails its cell: %s', async (how, code, message, then) => {
    behaving(how)
    const failing = runBenchCell(await peerCell())
    await expect(failing).rejects.toMatchObject({code, message: expect.stringMatching(message)})
    await expect.poll(started).toEqual([then === 'stays'])
  })

  it('is killed when it does not begin', async () => {
    behaving('silent')
    await expect(startPeer(peerCommand('torch', 1), 200)).rejects.toMatchObject({
      message: expect.stringMatching(/got .*: ended: no answer within 0.2 s/),
    })
    behaving('loading')
    await expect(startPeer({...peerCommand('torch', 1), patience: 200})).rejects.toMatchObject({
      message: expect.stringMatching(/got .*: ended: no answer within 0.2 s/),
    })
  })

  it.runIf(FULL)('is killed when its answer has no end, with little of it in memory', async () => {
    behaving('endless')
    await expect(startPeer(peerCommand('torch', 1))).rejects.toMatchObject({
      message: expect.stringMatching(/expected an answer in lines, got 16\d{6} bytes without one/),
    })
    await expect.poll(started).toEqual([false])
  })

  it.runIf(FULL)('is killed when it says nothing for too long', async () => {
    behaving('hang')
    const peer = await startPeer({...peerCommand('torch', 1), patience: 10_000})
    const given = {...peerCaseOf(await peerCell()), length: 0, tokens: 0}
    const nothing = new Float32Array()
    const made = await peer.make(given, {query: nothing, key: nothing, value: nothing})
    await expect(made.time({runs: 1, ns: 0})).rejects.toMatchObject({
      message: 'peer torch: ended: no answer within 10 s',
    })
    await expect.poll(started).toEqual([false])
  })

  it('is refused before anything runs, with what to install', async () => {
    behaving('missing')
    await expect(bench.check!(peerPlan())).rejects.toMatchObject({
      code: 'BACKEND_MISSING',
      message: `peer torch: expected a Python with PyTorch, got ${FAKE}: ModuleNotFoundError: No module named 'torch'`,
      suggestions: [
        expect.stringContaining('pip install torch'),
        ...Array(2).fill(expect.anything()),
      ],
    })
    vi.stubEnv('RFA_PYTHON', '/nowhere/python')
    await expect(bench.check!(peerPlan())).rejects.toMatchObject({
      message: expect.stringContaining('got /nowhere/python: spawn /nowhere/python ENOENT'),
    })
    behaving('right')
    vi.stubEnv('RFA_PYTHON', FAKE)
    await expect(bench.check!(peerPlan())).resolves.toBeUndefined()
    await expect(bench.check!(peerPlan({peers: undefined}))).resolves.toBeUndefined()
  })
})
