import {describe, expect, it} from 'vitest'
import {benchAnswers, benchView} from '../../../../../src/experiments/bench/report/answers.js'
import {benchScreen} from '../../../../../src/experiments/bench/report/screen.js'
import type {BenchCell, BenchRecord} from '../../../../../src/experiments/bench/schema.js'
import {SCREEN_LINES} from '../../../../../src/report/screen.js'
import {renderTerminal} from '../../../../../src/report/terminal.js'
import {decoded, inProcesses, oneProcess, steady, timed} from '../../../../helpers/records/bench.js'
import {failed, interrupted, skipped} from '../../../../helpers/records/outcomes.js'

const LENGTHS = [256, 512, 1024]

/** Both exact forms, the tiled one a fifth faster. */
const exact = (lengths = LENGTHS, changes: Partial<BenchCell> = {}) =>
  lengths.flatMap(seq_len =>
    (['softmax', 'softmax-online'] as const).map((method, at) =>
      timed(
        {method, projection: null, num_features: null, seq_len, ...changes},
        7 * seq_len ** 2 * (at === 0 ? 1.2 : 1),
        {feature_dim: 0},
      ),
    ),
  )

/** A method of linear time. @param each - ns for a token */
const linear = (
  method: string,
  each: number,
  changes: Partial<BenchCell> = {},
  lengths = LENGTHS,
) => lengths.map(seq_len => timed({method, seq_len, ...changes}, each * seq_len))

const FREE = {projection: null, num_features: null}
const QUICK = [...exact(), ...linear('elu', 900, FREE), ...linear('favor-pos', 2400)]

/** Processes that differ by half, each cell by its own. */
const apart = (records: typeof QUICK) =>
  records.map(({cell, result}, at) => {
    const factors = [0.6, 1, 1.6, 0.8]
    const medians = [0, 1, 2].map(process => factors[(process + at) % 4]! * result.median_ns)
    return timed(cell, 1, inProcesses(medians))
  })

const CONDITIONS = {
  ...{load_before: 1, load_after: 9, steal_share: 0, lowest_mhz: 2600, highest_mhz: 2600},
  unknown: null,
}
const busy = (records: typeof QUICK) =>
  apart(records).map(record => {
    const waited_ns = 0.7 * record.result.samples_ns.reduce((sum, x) => sum + x, 0)
    return {...record, result: {...record.result, waited_ns, conditions: CONDITIONS}}
  })

const NAMES = ['rfa', 'favor-hyp', 'oprf', 'saderf', 'lara', 'nystrom', 'reformer', 'linformer']
const THIRTY = NAMES.flatMap((method, at) =>
  [64, 128, 256, 512].flatMap(num_features =>
    linear(method, (at + 1) * 8 * num_features, {num_features}),
  ),
)

const broken = timed({seq_len: 1024}, 2.4e6, {
  breakdown: {
    parts: [
      part('features', 1.5e6, 0.62),
      part('contraction', 0.8e6, 0.33),
      part('guard', 0.1e6, 0.04),
    ],
    ...{sum_over_whole: 0.99, sum_over_whole_low: 0.97, sum_over_whole_high: 1.01, none: null},
  },
})

function part(name: 'features' | 'contraction' | 'guard', median_ns: number, share: number) {
  return {
    ...{part: name, in_whole: true, median_ns, median_low_ns: null, median_high_ns: null, share},
    ...{share_low: null, share_high: null, samples_ns: [median_ns], turn_runs: [1]},
  }
}

const layer = {mode: 'layer', heads: 4, head_dim: 32, value_dim: 32} as const
const onWasm = (records: typeof QUICK, backend: string, times: number) =>
  records.map(({cell, result}) =>
    timed(cell, times * result.median_ns, {backend, instruction_set: null}),
  )

const pretrained: Partial<BenchCell> = {
  mode: 'model',
  model: {folder: 'models/minilm/model', digest: ''},
  layers: [0, 1, 2, 3, 4, 5],
  ...{heads: 12, head_dim: 32, value_dim: 32},
}
/** A record of a model of six layers that takes 100 us a token, and more for its attention. */
const whole = (
  method: string,
  more: (length: number) => number,
  changes: Partial<BenchCell> = {},
  lengths = [128, 256, 512],
) =>
  lengths.map(seq_len =>
    timed({...pretrained, method, seq_len, ...changes}, 1e5 * seq_len + more(seq_len), {
      ...{model_kind: 'bert', model_layers: 6, live_bytes: null},
    }),
  )
const inModel = (changes: Partial<BenchCell> = {}) => [
  ...whole('softmax-online', length => 80 * length ** 2, {...FREE, ...changes}),
  ...whole('favor-pos', length => 2e4 * length, changes),
  ...whole('elu', length => 1e4 * length, {...FREE, ...changes}),
  ...whole('identity', () => 0, {...FREE, ...changes}),
]
const stepwise: Partial<BenchCell> = {
  ...pretrained,
  ...{mode: 'decode', layers: [0, 1], causal: true},
}

const RUNS: Readonly<Record<string, readonly BenchRecord[]>> = {
  'the quick run': QUICK,
  'a busy machine': busy(QUICK),
  'wide intervals on a quiet machine': apart(QUICK),
  'one process per cell': QUICK.map(({cell, result}) =>
    timed(cell, 1, oneProcess(steady(result.median_ns))),
  ),
  'one length, one method that is slower': [...exact([256]), ...linear('rfa', 4000, {}, [256])],
  'one method that is not distinguishable': [...exact([256]), ...linear('rfa', 1792, {}, [256])],
  'thirty variants at nine lengths': [
    ...exact([64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]),
    ...NAMES.flatMap((method, at) =>
      [64, 128, 256, 512].flatMap(num_features =>
        linear(method, (at + 1) * 8 * num_features, {num_features}, [
          ...[64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384],
        ]),
      ),
    ),
  ],
  'no exact form': THIRTY.slice(0, 12),
  'exact forms alone': exact(),
  'failures and skips': [
    ...QUICK.slice(0, -1),
    failed(QUICK.at(-1)!),
    ...linear('reformer', 1000).map(record => skipped(record, 'has no bidirectional form')),
  ],
  'nothing but failures': QUICK.map(record => failed(record)),
  'an interrupted run': [...QUICK.slice(0, 9).map(record => interrupted(record))],
  'several batches': [1, 4, 16].flatMap(batch => [
    ...exact([256, 1024], {batch}),
    ...linear('favor-pos', 2400 * batch, {batch}, [256, 1024]),
  ]),
  'shared heads of keys': QUICK.map(({cell, result}) =>
    timed({...cell, heads: 32, kv_heads: 8, causal: true}, result.median_ns),
  ),
  'two backends': [...QUICK, ...onWasm(QUICK, 'cpu', 5)],
  'a layer': [
    ...exact(LENGTHS, layer),
    ...linear('favor-pos', 3000, layer),
    ...linear('identity', 1500, {...layer, ...FREE}),
  ],
  'a breakdown': [...exact([1024]), broken],
  'a decode': [
    decoded({method: 'softmax', ...FREE}, {token: 1000, more: 200}),
    decoded({method: 'rfa'}, {token: 3000}),
    decoded({method: 'favor-pos'}, {token: 20000}),
  ],
  'a whole model': inModel(),
  'two layers of a model': inModel({layers: [0, 1]}),
  'a model token by token': [
    decoded({...stepwise, method: 'softmax', ...FREE}, {token: 30000, more: 200}),
    decoded({...stepwise, method: 'elu', ...FREE}, {token: 33000}),
  ].map(({result, ...rest}) => ({
    ...rest,
    result: {...result, model_kind: 'gpt2', model_layers: 4},
  })),
  'long names': [
    ...exact(),
    ...linear('favor-pos', 2400, {preset: 'google-slim', options: {stabilizer: 0.001, tau: 0.25}}),
    ...linear('rfa', 1000, {orth_sign: 'raw', redraw: 'every:4', num_features: 128}),
  ],
}

const shown = (records: readonly BenchRecord[], width = 80) =>
  renderTerminal(benchScreen(records), {width, colour: false})

describe('benchScreen', () => {
  it.each(Object.entries(RUNS))('fits 20 lines of 80 columns: %s', (_, records) => {
    const lines = shown(records).split('\n')
    expect(lines.length).toBeLessThanOrEqual(SCREEN_LINES)
    expect(lines.filter(line => line.length > 80)).toEqual([])
    expect(`\n${lines.join('\n')}\n`).toMatchSnapshot()
  })
})

describe('benchAnswers', () => {
  /** Methods at one length, each so many times as fast as the faster exact form, known to a few per cent. */
  const answerOf = (speeds: readonly number[]) => {
    const methods = speeds.flatMap((speed, at) => {
      const method = NAMES[at]!
      return timed({method, seq_len: 256}, (7 * 256 ** 2) / speed)
    })
    return benchAnswers(benchView([...exact([256]), ...methods]))[0]!
  }

  it.each([
    [[2, 3, 0.5], '2 of 3 methods are faster', 'the fastest is favor-hyp, 3.0x ['],
    [[2, 0.5, 0.4], '1 of 3 methods is faster', ': rfa, 2.0x ['],
    [[2, 4], 'Both methods are faster', 'the fastest is favor-hyp, 4.0x ['],
    [[2, 4, 8], 'All 3 methods are faster', 'the fastest is oprf, 8.0x ['],
    [[0.2, 0.4], 'None of 2 methods is faster', 'the fastest is favor-hyp, 0.40x ['],
    [[0.2, 1], '(1 of 2 inconclusive)', 'the fastest is favor-hyp, 1.00x ['],
    [[3], 'rfa is 3.0x [', 'faster than exact attention (softmax-online, 459 us)'],
    [[0.3], 'rfa is slower than exact attention', ': 0.30x ['],
    [[1], 'rfa is not distinguishable from', ': 1.00x ['],
  ])('agrees with speeds of %j', (speeds, count, best) => {
    const answer = answerOf(speeds)
    expect(answer).toContain(count)
    expect(answer).toContain(best)
  })

  it('compares with exact forms of the same length alone', () => {
    const longer = timed({method: 'rfa', seq_len: 512}, 1)
    expect(
      benchAnswers(benchView([...exact([256]), ...linear('rfa', 900, {}, [256]), longer]))[0],
    ).toMatch(/^rfa is .* faster than exact attention \(softmax-online, 459 us\) at L=256\.$/)
  })

  it('has nothing to say without records', () => {
    expect(benchAnswers(benchView([]))).toEqual([])
    expect(benchScreen([])).toEqual([])
  })
})

describe('methods that only a peer has', () => {
  const by = (backend: string, records: typeof QUICK) =>
    records.map(({cell, result}) => timed(cell, result.median_ns, {...result, backend}))
  const own = linear('my-map', 900, FREE)
  const records = [...by('native', exact()), ...by('torch', [...exact(), ...own])]

  it('are what the answer is about, and stay in the table before other exact forms', () => {
    expect(benchAnswers(benchView(records))[0]).toMatch(/^my-map on torch is .* faster than exact/)
    const shown = renderTerminal(benchScreen(records, 14), {
      ...{width: 100, colour: false, unicode: true},
    })
    expect(shown).toMatch(/^my-map on torch /m)
    expect(shown).not.toMatch(/^softmax on native /m)
  })
})
