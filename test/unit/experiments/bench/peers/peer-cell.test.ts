/** Peers of a benchmark, by a stand-in for Python that answers as python/rfa_peers.py does, or as it must not. */
import {mkdtempSync, readFileSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest'
import {runBenchCell} from '../../../../../src/experiments/bench/cell.js'
import {benchJobs} from '../../../../../src/experiments/bench/grid.js'
import {peerCommand, startPeer} from '../../../../../src/experiments/bench/peers/peer-process.js'
import bench, {
  type BenchCell,
  type BenchPlan,
  benchCell,
  benchPlan,
  benchResult,
} from '../../../../../src/experiments/bench/schema.js'
import {packageRoot} from '../../../../../src/package.js'
import {FULL} from '../../../../helpers/effort.js'
import {method, bench as plan} from '../../../../helpers/plans.js'

const FAKE = join(packageRoot(), 'test', 'helpers', 'fake-python.mjs')

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rfa-test-peer-'))
  vi.stubEnv('RFA_PYTHON', FAKE)
  vi.stubEnv('RFA_FAKE_PYTHON_PIDS', join(folder, 'pids'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, {recursive: true})
})

const peerPlan = (changes: Partial<BenchPlan> = {}) =>
  benchPlan.parse(plan({peers: ['torch'], methods: [method('softmax')], ...changes}))

async function cellsOf(changes: Partial<BenchPlan> = {}): Promise<BenchCell[]> {
  return Array.from(await benchJobs(peerPlan(changes)), ({cell}) => cell)
}

async function peerCell(changes: Partial<BenchPlan> = {}): Promise<BenchCell> {
  return (await cellsOf({seq_lens: [32], ...changes})).find(({peer}) => peer)!
}

const behaving = (how: string) => vi.stubEnv('RFA_FAKE_PYTHON', how)

/** Processes that were started, and whether each is still there. */
function started(): boolean[] {
  const pids = readFileSync(join(folder, 'pids'), 'utf8').trim().split('\n').map(Number)
  return pids.map(isThere)
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
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
    const [own, other] = [...(await benchJobs(peerPlan({seq_lens: [32]})))]
    expect([own!.label, other!.label]).toEqual(['softmax L=32', 'softmax on torch L=32'])
    expect(other!.predictedBytes - own!.predictedBytes).toBeGreaterThan(2 ** 28)
  })
})

describe('a peer that computes', () => {
  it.each([false, true])('is judged, then timed in its turns; causal %s', async causal => {
    const timing = {warmup_runs: 2, min_runs: 6, max_runs: 12, min_time_ns: 0}
    const cell = await peerCell({causal, timing, seq_lens: [200], batch: 2, heads: 2})
    const turns: number[] = []
    const outcome = await runBenchCell(
      {...cell, threads: 3},
      {yieldTurn: async () => turns.push(1) > 0},
    )
    const result = benchResult.parse((outcome as {result: unknown}).result)
    expect(result).toMatchObject({
      ...{backend: 'torch', instruction_set: 'FAKE', threads: 3, live_bytes: null},
      ...{peer: {version: '9.9.9', python: '3.99.0'}, gate: {rows: 160}},
    })
    expect(result.gate.max_abs_error).toBeLessThan(result.gate.bound)
    expect(result.runs).toBe(result.samples_ns.length)
    expect(result.runs).toBeGreaterThanOrEqual(6)
    expect(result.runs).toBeLessThanOrEqual(12)
    expect(turns.length).toBe(result.turn_runs.length - 1)
    expect(result.min_ns).toBe(1e6)
    await expect.poll(started).toEqual([false])
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

describe('a peer that does not', () => {
  it.each([
    ['wrong', 'GATE_FAILED', /softmax of torch: expected an error of at most/],
    ['crash', 'CELL_CRASHED', /peer torch: ended: Fatal Python error: Segmentation fault/],
    ['garbage', 'CELL_CRASHED', /expected an answer in JSON, got "Warning: something else"/],
    ['nonsense', 'CELL_CRASHED', /expected another answer, got {"ns":\[-1\]}/],
    ['error', 'CELL_CRASHED', /peer torch: RuntimeError: out of fake memory/],
  ])('fails its cell and is gone: %s', async (how, code, message) => {
    behaving(how)
    const failing = runBenchCell(await peerCell())
    await expect(failing).rejects.toMatchObject({code, message: expect.stringMatching(message)})
    await expect.poll(started).toEqual([false])
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

  it('is killed when its answer has no end, with little of it in memory', async () => {
    behaving('endless')
    await expect(startPeer(peerCommand('torch', 1))).rejects.toMatchObject({
      message: expect.stringMatching(/expected an answer in lines, got 16\d{6} bytes without one/),
    })
    await expect.poll(started).toEqual([false])
  })

  it.runIf(FULL)('is killed when it says nothing for too long', async () => {
    behaving('hang')
    const peer = await startPeer({...peerCommand('torch', 1), patience: 10_000})
    await expect(peer.time({runs: 1, ns: 0})).rejects.toMatchObject({
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
