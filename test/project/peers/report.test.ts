import {describe, expect, it} from 'vitest'
import {
  cellsOfPeer,
  FULL,
  type PeerCase,
  peerCases,
  QUICK,
  type Setting,
} from '../../../bench/peers/cases.js'
import {readFlags} from '../../../bench/peers/flags.js'
import {type PeersReport, peerRowOf, peersReport} from '../../../bench/peers/report.js'
import {caseText, peersText} from '../../../bench/peers/table.js'
import type {BenchCell, BenchRecord, TimedRecord} from '../../../src/experiments/bench/schema.js'
import {timed} from '../../helpers/records/bench.js'

const SETTING: Setting = {
  timing: {processes: 3, warmup_runs: 1, min_runs: 3, max_runs: 60, min_time_ns: 1e9},
  threads: 1,
}
/** Work of a run. */
const FLOPS = 1e6
const SHORT = {lengths: [2048], longer: [], decoded: [512]}

/** A cell that reaches a share of a peak of 100 GFLOP/s in its fastest run. */
function reaching(share: number, cell: BenchCell): TimedRecord {
  const samples_ns = [3, 1, 2, 5].map(times => (times * FLOPS) / (100 * share))
  return timed(cell, 0, {samples_ns, work_flops: FLOPS, fma_peak_gflops: 100})
}

/** A row in which torch takes 1.5 times as long as rfa, or 0.75 times where it is said, and jax cannot be. */
function rowOf(given: PeerCase, faster: boolean) {
  const {own} = given
  const [eager, jit] = ['torch', 'jax'].flatMap((peer, at) =>
    cellsOfPeer(given, peer, {forms: [['eager', 'jit'][at]!], preset: 'exact'}),
  )
  return peerRowOf(given, [
    reaching(0.5, own.cell),
    reaching(5 / 3, jit!.cell),
    reaching(0.5 / (faster ? 0.75 : 1.5), eager!.cell),
  ])
}

async function report(): Promise<PeersReport> {
  const cases = await peerCases(SHORT, SETTING)
  return {
    schema: 'rfa.peers/1',
    created_at: '2026-11-22T03:00:00.000Z',
    command: 'npm run bench:peers --',
    machine: {
      ...{cpu: 'CPU', logical_cores: 2, available_parallelism: 2, memory_bytes: 2 ** 34},
      ...{platform: 'linux', arch: 'x64', node: '20.19.0', rfa: '0.1.0', tfjs: '4.22.0'},
      commit: 'abc1234',
    },
    load_average: {before: 3, after: 1},
    num_features: 256,
    seconds_per_case: 1,
    complete: true,
    peers: ['torch', 'jax'].map(peer => ({peer, python: '3.11.7', versions: {[peer]: '2.15.0'}})),
    missing: [{peer: 'onnxruntime', reason: 'no wheel'}],
    rows: cases.map(one =>
      rowOf(one, one.method === 'elu' && one.own.cell.causal && one.kind === 'attention'),
    ),
  }
}

describe('the comparison with peers', () => {
  it('writes what its schema says', async () => {
    const written: unknown = JSON.parse(JSON.stringify(await report()))
    expect(peersReport.parse(written)).toEqual(written)
  })

  it('keeps fastest, middle and spread of each engine, of one token for decoders', async () => {
    const {rows} = await report()
    const decode = rows.find(({kind, method}) => kind === 'decode' && method === 'elu')!
    const own = decode.engines[0]!
    expect(own).toMatchObject({engine: 'rfa', form: 'native', runs: 4, over_rfa: 1, gflops: 50})
    // its clock starts behind the first of 512 tokens
    expect(own).toMatchObject({min_ns: 2e4 / 511, median_ns: 5e4 / 511})
    expect(own).toMatchObject({q1_ns: 3.5e4 / 511, q3_ns: 7e4 / 511})
    expect(decode).toMatchObject({tokens: 512, flops: FLOPS / 511})
  })

  it('leaves out figures beyond the multiply-add peak, and what failed', async () => {
    const {rows} = await report()
    for (const row of rows) {
      expect(row.engines.map(({engine}) => engine)).not.toContain('jax')
      expect(row.left_out).toEqual([
        {
          ...{engine: 'jax', form: 'jit'},
          reason: 'expected at most 105 % of the multiply-add peak, got 166.7 %',
        },
      ])
    }
    const [given] = await peerCases(SHORT, SETTING)
    const [other] = cellsOfPeer(given!, 'jax', {forms: ['a form'], preset: 'exact'})
    const base = {schema: 'rfa.bench/1', key: '', cell: other!.cell}
    const error = {code: 'GATE_FAILED', message: 'expected less'}
    const failed: BenchRecord = {...base, status: 'failed', error}
    const own = reaching(0.5, given!.own.cell)
    const left = {engine: 'jax', form: 'a form', reason: 'expected less'}
    expect(peerRowOf(given!, [own, failed]).left_out).toEqual([left])
    expect(() => peerRowOf(given!, [{...failed, cell: own.cell}])).toThrow(
      'rfa softmax: expected less',
    )
  })

  it('shows losses, missing peers, versions and other load', async () => {
    const shown = peersText(await report())
    expect(shown).toContain('torch 2.15.0')
    expect(shown).toContain('Other programs were running: load 3.0.')
    expect(shown).not.toContain('Interrupted')
    const cut = {...(await report()), complete: false}
    expect(peersText(cut)).toContain('Interrupted: not all cases were timed.')
    expect(shown).toMatch(/^favor-pos causal +2048 +1 .* 1\.50x eager/m)
    expect(shown).toContain('elu causal, 2048 tokens, 1 thread: torch eager 0.750x')
    expect(shown).toContain('onnxruntime: no wheel')
    expect(shown).toContain('jax jit: expected at most 105 %')
    expect(shown).toMatch(/^softmax decode +512 +1 /m)
  })

  it('compares each method at its lengths', async () => {
    const cases = await peerCases(FULL, SETTING)
    const texts = cases.map(({kind, method, own: {cell}}) =>
      caseText({kind, method, causal: cell.causal, tokens: cell.seq_len}),
    )
    const of = (name: string) => texts.filter(text => text.startsWith(`${name},`)).length
    expect(['softmax', 'softmax causal', 'elu', 'efficient', 'softmax decode'].map(of)).toEqual([
      3, 3, 4, 2, 2,
    ])
    expect(of('efficient decode')).toBe(0)
    expect((await peerCases(QUICK, SETTING)).length).toBeLessThan(cases.length / 2)
  })

  it('asks a peer for the preset that it computes', async () => {
    const [given] = await peerCases(QUICK, SETTING)
    const [job] = cellsOfPeer(given!, 'performer-pytorch', {
      forms: ['FastAttention, C++ loop'],
      preset: 'performer-pytorch',
    })
    expect(job!.cell).toEqual({
      ...given!.own.cell,
      ...{backend: 'auto', preset: 'performer-pytorch'},
      peer: 'performer-pytorch FastAttention, C++ loop',
    })
    expect(job!.predictedBytes).toBeGreaterThan(given!.own.predictedBytes)
  })
})

describe('the flags', () => {
  it('name peers, threads, seconds, the output and cases', () => {
    const typed = ['--peers', 'jax,torch', '--threads', '1', '--output', 'x.json', 'elu', 'causal']
    expect(readFlags(typed)).toEqual({
      ...{peers: ['jax', 'torch'], threads: [1], seconds: 1, output: 'x.json'},
      ...{quick: false, filter: 'elu causal'},
    })
    expect(readFlags(['--quick']).seconds).toBeLessThan(1)
  })

  it('say what they expect', () => {
    expect(() => readFlags(['--peers', 'numpy'])).toThrow(
      /--peers: expected some of torch, jax, .* got numpy/,
    )
    expect(() => readFlags(['--threads', '0'])).toThrow(/--threads: expected whole numbers from 1/)
    expect(() => readFlags(['--seconds', 'x'])).toThrow(
      '--seconds: expected a positive number, got x',
    )
    expect(() => readFlags(['--fast'])).toThrow(/Unknown option/)
  })
})
