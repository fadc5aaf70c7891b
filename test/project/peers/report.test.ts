import {describe, expect, it} from 'vitest'
import {FULL, peerCases, QUICK} from '../../../bench/peers/cases.js'
import type {Engine} from '../../../bench/peers/engine.js'
import {readFlags} from '../../../bench/peers/flags.js'
import {type PeersReport, peerRowOf, peersReport} from '../../../bench/peers/report.js'
import {inRounds} from '../../../bench/peers/rounds.js'
import {peersMarkdown, peersText} from '../../../bench/peers/table.js'

function engine(name: string, form: string, time: Engine['time'] = async () => [1]): Engine {
  const output = new Float32Array(0)
  return {engine: name, form, departs: {}, output, time, dispose() {}}
}

const [rfa, torch, jax] = [engine('rfa', 'native'), engine('torch', 'eager'), engine('jax', 'jit')]

/** A report on short cases, as a machine of 100 GFLOP/s would give it. */
async function report(): Promise<PeersReport> {
  const cases = await peerCases({lengths: [2048], longer: [], seen: [512]})
  const rows = cases.map(given => {
    const ns = given.flops / 50 // half of the peak
    const perRun = given.kind === 'decode' ? given.tokens : 1
    const of = (...factors: number[]) => factors.map(factor => factor * ns * perRun)
    const faster = given.method === 'elu' && given.causal && given.kind === 'attention'
    const times = new Map([
      [jax, of(0.3, 0.4)],
      [rfa, of(3, 1, 2, 5)],
      [torch, of(faster ? 0.75 : 1.5)],
    ])
    return peerRowOf(given, times, [], {threads: 1, processors: [0], peak: 100})
  })
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
    seconds_per_case: 3,
    complete: true,
    peers: ['torch', 'jax'].map(peer => ({peer, python: '3.11.7', versions: {[peer]: '2.15.0'}})),
    missing: [{peer: 'onnxruntime', reason: 'no wheel'}],
    rows,
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
    expect(own).toMatchObject({engine: 'rfa', runs: 4, over_rfa: 1})
    const times = [own.min_ns, own.q1_ns, own.median_ns, own.q3_ns].map(ns => ns / own.min_ns)
    // quarters of 1, 2, 3, 5
    const wanted = [1, 1.75, 2.5, 3.5]
    for (const [i, time] of times.entries()) expect(time).toMatchReference(wanted[i]!, 12)
    expect(own.gflops).toMatchReference(50, 10)
  })

  it('leaves out figures beyond the multiply-add peak', async () => {
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
  })

  it('shows losses, missing peers, versions and other load', async () => {
    const shown = peersText(await report())
    expect(shown).toContain('torch 2.15.0')
    expect(shown).toContain('Other programs were running: load 3.0.')
    expect(shown).toContain('Processors of every engine: 1 thread on 0.')
    expect(shown).not.toContain('Interrupted')
    const cut = {...(await report()), complete: false}
    expect(peersText(cut)).toContain('Interrupted: not all cases were timed.')
    expect(shown).toMatch(/^favor-pos causal +2048 +1 .* 1\.50x eager/m)
    expect(shown).toContain('elu causal, 2048 tokens, 1 thread: torch eager 0.750x')
    expect(shown).toContain('onnxruntime: no wheel')
    expect(shown).toContain('jax jit: expected at most 105 %')
    expect(peersMarkdown(await report())).toMatch(/^\| softmax decode \| 512 \| 1 \|/m)
  })

  it('compares each method at its lengths, with the work that its estimator counts', async () => {
    const cases = await peerCases(FULL)
    const lengthsOf = (method: string) =>
      cases.flatMap(given =>
        given.kind === 'attention' && given.method === method ? [given.length] : [],
      )
    expect(lengthsOf('softmax')).toEqual([512, 2048, 8192, 512, 2048, 8192])
    expect(lengthsOf('elu')).toContain(16384)
    expect(lengthsOf('efficient')).toEqual([512, 2048, 512, 2048])
    const flops = cases.find(({method}) => method === 'softmax')!.flops
    // 8 heads, per pair 4 D and an exp of 10
    expect(flops).toBe(8 * 512 * 512 * (4 * 64 + 10))
    expect((await peerCases(QUICK)).length).toBeLessThan(cases.length / 2)
  })
})

describe('rounds', () => {
  const effort = {seconds: 0, least: 4, most: 6}

  it('takes engines in an order of its own each time, and those far behind once', async () => {
    const calls: string[] = []
    const named = (name: string, ns: number) =>
      engine(name, '', async () => {
        calls.push(name)
        return [ns]
      })
    // ten times the fastest is far only where a run takes long
    const engines = [named('a', 1e8), named('b', 9.5e8), named('slow', 1e9)]
    const draws = [0, 0, 0, 0.9, 0, 0, 0, 0.9, 0]
    const random = () => draws.shift() ?? 0
    let rounds = 0
    const {times, failed} = await inRounds(engines, effort, {random, between: () => rounds++})
    expect(calls.join(' ')).toBe('a b slow b a a b b a')
    expect([...times.values()].map(({length}) => length)).toEqual([4, 4, 1])
    expect([rounds, failed]).toEqual([4, []])
    const short = [named('c', 1e5), named('d', 1e8)]
    const more = await inRounds(short, effort, {random, between() {}})
    expect([...more.times.values()].map(({length}) => length)).toEqual([4, 4])
  })

  it('goes on without an engine that fails', async () => {
    const broken = engine('b', 'form', async () => {
      throw new Error('killed')
    })
    const hooks = {random: () => 0, between() {}}
    const {times, failed} = await inRounds([engine('a', ''), broken], effort, hooks)
    expect([...times.keys()].map(({engine}) => engine)).toEqual(['a'])
    expect(failed).toEqual([{engine: 'b', form: 'form', reason: 'killed'}])
  })
})

describe('the flags', () => {
  it('name peers, threads, seconds and the output', () => {
    expect(readFlags(['--peers', 'jax,torch', '--threads', '1', '--output', 'x.json'])).toEqual({
      ...{peers: ['jax', 'torch'], threads: [1], seconds: 3, output: 'x.json'},
      ...{quick: false, markdown: false},
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
