/**
 * `python/rfa_peers.py` with PyTorch: what `rfa bench --peers torch` times is what its methods compute. Needs a Python with
 * `python/requirements.txt`, which `npm run test:python` makes; skipped without.
 */
import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {readFileSync} from 'node:fs'
import {createInterface} from 'node:readline'
import {setTimeout as delay} from 'node:timers/promises'
import {describe, expect, it} from 'vitest'
import {runBenchCell} from '../../src/experiments/bench/measure/cell.js'
import {benchArrays} from '../../src/experiments/bench/measure/inputs.js'
import {
  type PeerCase,
  type PeerInputs,
  peerCommand,
  startPeer,
} from '../../src/experiments/bench/measure/peers/peer-process.js'
import {type BenchCell, benchPlan, benchResult} from '../../src/experiments/bench/schema.js'
import {normals, randomStream} from '../../src/random/index.js'
import {attentionRoundingBound} from '../../src/theory/rounding.js'
import {benchCells} from '../helpers/cells.js'
import {bench, method} from '../helpers/plans.js'
import {PYTHON} from './python.js'

/** Beyond a chunk of causal forms, and no multiple of one. */
const LENGTH = 150

/** Cells of the peer. */
async function peerCells(causal: boolean, names: readonly string[]): Promise<BenchCell[]> {
  const shape = {seq_lens: [LENGTH], batch: 2, heads: 3, head_dim: 7, value_dim: 5}
  const timing = {warmup_runs: 1, min_runs: 4, max_runs: 4, min_time_ns: 0}
  const methods = names.map(name => method(name))
  const plan = benchPlan.parse(bench({...shape, timing, methods, causal, peers: ['torch']}))
  return (await benchCells(plan)).filter(({peer}) => peer)
}

const SHAPE = {batch: 2, heads: 3, head_dim: 7, value_dim: 5, num_features: 16}

const ONE_HEAD = {
  ...{method: 'softmax-online', decode: false, causal: false, batch: 1, heads: 1},
  ...{head_dim: 64, value_dim: 64, num_features: 0},
}

/** Resident memory of a process, in bytes. */
function resident(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1])
}

/** Inputs of {@link SHAPE}, and those of one of its heads. */
function inputsOf(name: string) {
  const {batch, heads, head_dim, num_features} = SHAPE
  const arrays = benchArrays({...SHAPE, seq_len: LENGTH, seed: 3})
  const rows = Float32Array.from(normals(randomStream(3, 'rows'), heads * num_features * head_dim))
  const projection = name === 'favor-pos' ? rows : undefined
  const part = (values: Float32Array, place: number, count = batch * heads) =>
    values.slice((place * values.length) / count, ((place + 1) * values.length) / count)
  const ofHead = (place: number): PeerInputs => ({
    query: part(arrays.query, place),
    key: part(arrays.key, place),
    value: part(arrays.value, place),
    projection: projection && part(projection, place % heads, heads),
  })
  const longest = longestRow([...arrays.query, ...arrays.key], head_dim)
  const bound = attentionRoundingBound({
    terms: head_dim + num_features + LENGTH,
    argument: head_dim ** -0.25 * 6 * longest + head_dim ** -0.5 * longest ** 2,
    condition: 1,
    magnitude: longestRow([...arrays.value], 1),
  })
  return {inputs: {...arrays, projection}, ofHead, part, bound}
}

function longestRow(values: readonly number[], dim: number): number {
  const rows = Array.from({length: values.length / dim}, (_, at) =>
    Math.hypot(...values.slice(at * dim, (at + 1) * dim)),
  )
  return Math.max(...rows)
}

describe.skipIf(!PYTHON)('PyTorch as a peer', () => {
  it.each([
    [false, ['softmax', 'softmax-online', 'favor-pos', 'rfa', 'elu']],
    [true, ['softmax', 'softmax-online', 'favor-pos']],
  ])('passes the gate, causal %s: %j', async (causal, names) => {
    const cells = await peerCells(causal, names)
    expect(cells.map(cell => cell.method)).toEqual(names)
    for (const cell of cells) {
      const outcome = await runBenchCell(cell)
      const result = benchResult.parse((outcome as {result: unknown}).result)
      expect(result).toMatchObject({backend: 'torch', runs: 4, gate: {rows: LENGTH}})
      expect(result.peer!.version).toMatch(/^\d+\.\d+/)
    }
  })

  // rfa goes the way of favor-pos, and its weights, of both signs, magnify roundings
  it('computes each head and sequence by itself', async () => {
    const peer = await startPeer(peerCommand('torch', 1))
    try {
      for (const name of ['softmax', 'softmax-online', 'favor-pos', 'elu']) {
        for (const causal of [false, true]) {
          const lengths = {decode: false, length: LENGTH, tokens: LENGTH}
          const given: PeerCase = {...SHAPE, ...lengths, method: name, causal}
          const {inputs, ofHead, part, bound} = inputsOf(name)
          expect(bound).toBeLessThan(0.05)
          const all = await peer.make(given, inputs)
          const whole = await all.output()
          for (let at = 0; at < SHAPE.batch * SHAPE.heads; at++) {
            const one = await peer.make({...given, batch: 1, heads: 1}, ofHead(at))
            const alone = await one.output()
            expect(await all.output()).toEqual(whole)
            await one.drop()
            const own = part(whole, at)
            const worst = alone.reduce((top, x, i) => Math.max(top, Math.abs(x - own[i]!)), 0)
            expect(worst, `${name} ${causal} ${at}`).toBeLessThan(2 * bound)
          }
        }
      }
    } finally {
      peer.stop()
    }
  })

  it.runIf(process.platform === 'linux')('gives back the memory of what is dropped', async () => {
    const peer = await startPeer(peerCommand('torch', 1))
    try {
      const array = new Float32Array(2 ** 23)
      const length = array.length / ONE_HEAD.head_dim
      const given: PeerCase = {...ONE_HEAD, length, tokens: length}
      const before = resident(peer.pid)
      const made = await peer.make(given, {query: array, key: array, value: array})
      expect(resident(peer.pid) - before).toBeGreaterThan(2.5 * array.byteLength)
      await made.drop()
      expect(resident(peer.pid) - before).toBeLessThan(0.5 * array.byteLength)
    } finally {
      peer.stop()
    }
  })

  it('ends with its input, in the midst of a run too', async () => {
    const {command, args, env} = peerCommand('torch', 1)
    const child = spawn(command, args, {env, stdio: ['pipe', 'pipe', 'inherit']})
    try {
      const bytes = 3 * 4 * ONE_HEAD.head_dim
      const made = {do: 'make', case: {...ONE_HEAD, length: 1, tokens: 1, projected: false}, bytes}
      child.stdin.write(`${JSON.stringify(made)}\n`)
      child.stdin.write(new Uint8Array(bytes))
      for await (const line of createInterface(child.stdout)) if (line === '{"id": 1}') break
      child.stdin.write(`${JSON.stringify({do: 'time', id: 1, runs: 1e12, ns: 1e15})}\n`)
      await delay(200)
      child.stdin.end()
      expect(await once(child, 'exit')).toEqual([0, null])
    } finally {
      child.kill('SIGKILL')
    }
  })
})
