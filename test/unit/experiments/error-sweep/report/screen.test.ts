import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {placesOf} from '../../../../../src/experiments/error-sweep/report/groups/places.js'
import {errorSweepScreen} from '../../../../../src/experiments/error-sweep/report/screen.js'
import {answerSentences} from '../../../../../src/experiments/error-sweep/report/sentences/answer.js'
import type {
  CompletedSweep,
  ErrorSweepCell,
  ErrorSweepRecord,
  ErrorSweepResult,
} from '../../../../../src/experiments/error-sweep/schema.js'
import {errorText} from '../../../../../src/report/numbers.js'
import {renderTerminal} from '../../../../../src/report/terminal.js'
import {summarise} from '../../../../../src/stats/index.js'
import {FULL} from '../../../../helpers/effort.js'
import {
  failedSweep,
  metric,
  replicated,
  replicatedOnce,
  STATISTICS,
  scattered,
  skippedSweep,
  withoutMeans,
} from '../../../../helpers/records/error-sweep.js'

const screen = (records: readonly ErrorSweepRecord[]) => {
  const lines = renderTerminal(errorSweepScreen(records), {width: 80, colour: false}).split('\n')
  expect(lines.length).toBeLessThanOrEqual(20)
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80)
  return lines.join('\n')
}

/** rel L2 of averaging V, and the mean square of an exact output. */
const [AVERAGE, SQUARE] = [0.94, 0.002]

/** What a record says of squared errors where these are those of its replicates. */
const squares = (errors: readonly number[], average = AVERAGE) => {
  const mse = summarise(errors.map(error => error ** 2 * SQUARE))
  return {
    mse,
    mean_value_mse: average ** 2 * SQUARE,
    mse_over_mean_value: mse.median === null ? null : mse.median / SQUARE / average ** 2,
  }
}

/** A drawn method. @param spread - power of the scatter of its replicates */
const drawn = (
  method: string,
  error: number,
  cell: Partial<ErrorSweepCell> & {spread?: number; start?: number} = {},
  result: Partial<ErrorSweepResult> = {},
) => {
  const {spread = 0.2, start = 0, ...changes} = cell
  const errors = scattered(changes.replicates ?? 9, start).map(factor => error * factor ** spread)
  return replicated(
    errors,
    {method, causal: false, num_features: 64, ...changes},
    {feature_dim: changes.num_features ?? 64, ...squares(errors), ...result},
  )
}

/** A method that draws nothing. */
const fixed = (
  method: string,
  error: number,
  feature_dim: number,
  cell: Partial<ErrorSweepCell> = {},
  result: Partial<ErrorSweepResult> = {},
) => {
  const record = replicatedOnce(method, error, {feature_dim, ...squares([error]), ...result})
  return {...record, cell: {...record.cell, causal: false, ...cell}}
}

const averaging = (cell?: Partial<ErrorSweepCell>) => fixed('mean-value', AVERAGE, 1, cell)
const softmax = fixed('softmax', 3e-7, 0)

/** Both projections at both M. */
const both = (
  method: string,
  [few, many]: readonly [number, number],
  cell: Partial<ErrorSweepCell> & {spread?: number} = {},
  result: (num_features: number) => Partial<ErrorSweepResult> = () => ({}),
) =>
  (['iid', 'orth'] as const).flatMap((projection, start) =>
    [64, 256].map(num_features =>
      drawn(
        method,
        num_features === 64 ? few : many,
        {projection, num_features, start, ...cell},
        result(num_features),
      ),
    ),
  )

const CHANGES_SIGN = {...withoutMeans('sign_changes'), negative_denominators_pct: metric(40)}
const sincos = () => both('favor-trig', [116, 443], {spread: 3}, () => CHANGES_SIGN)
const twice = (num_features: number) => ({feature_dim: 2 * num_features})
const needed = (count: number) => () => ({
  predicted_rel_l2: 0.88,
  num_features_for_5_percent: count,
  num_features_for_5_percent_low: count / 1.3,
  num_features_for_5_percent_high: count * 1.3,
})
const left = (error: number) => () => ({
  predicted_rel_l2: 0.88,
  last_num_features: 4096,
  last_rel_l2: error,
  last_rel_l2_low: error / 1.3,
  last_rel_l2_high: error * 1.3,
})

const quick = () => [
  ...both('favor-pos', [0.92, 0.86], {}, left(0.7)),
  ...sincos(),
  ...both('rfa', [0.845, 0.84], {spread: 0.01}, twice),
  ...both('rfa', [0.1, 0.05], {target: 'matched'}, twice),
  fixed('elu', 0.908, 32),
  averaging(),
  softmax,
]

/** Layers with an error of one method each. */
const layersOf = (errors: readonly number[]) =>
  errors.flatMap((error, layer) => [drawn('favor-pos', error, {layer}), averaging({layer})])

/** A method against what it converges to. */
const matched = (error: number, target_label: string, method = 'rfa') =>
  drawn(method, error, {method, target: 'matched'}, {target_label})
const UNIT = 'softmax of unit q, k at temperature 1'

const trouble = [
  skippedSweep('no causal form', {method: 'identity'}),
  failedSweep('CELL_CRASHED', `the process ended ${'and ended '.repeat(30)}`, {method: 'rfa'}),
]

const [FEW, LONG] = [{replicates: 3}, [`arrays/${'a-very-long-name-'.repeat(8)}.safetensors`]]

const RUNS: Record<string, readonly ErrorSweepRecord[]> = {
  'no method that comes close': quick().map(record => ({
    ...record,
    result: {...record.result, batch: 2, hidden_keys: 7, judged_queries: 55},
  })),
  'a method within 5 %': [
    ...both('favor-pos', [0.09, 0.04]),
    ...both('favor-hyp', [0.2, 0.11], {}, twice),
    averaging(),
  ],
  'one row of a drawn method': [drawn('favor-pos', 0.3, {causal: true})],
  'ties with the best, and features that change nothing': [
    ...both('favor-pos', [0.3, 0.3]),
    ...both('oprf', [0.301, 0.301]),
    ...both('favor-hyp', [0.6, 0.6], {}, twice),
    averaging(),
  ],
  'projections that differ': [
    drawn('favor-pos', 0.4, {projection: 'iid'}),
    drawn('favor-pos', 0.2, {projection: 'orth'}),
    averaging(),
  ],
  'nothing better than averaging V': [
    ...both('favor-pos', [1.4, 1.1]),
    fixed('elu', 1.02, 32),
    averaging(),
  ],
  'one method, not distinguishable from averaging V': [
    drawn('favor-pos', 0.938, {spread: 0.5}),
    averaging(),
  ],
  'nothing usable': [
    ...sincos(),
    replicated([null, 0.4, 0.5, 0.4, 0.3, 0.2], {method: 'taylor', causal: false}),
  ],
  'exact forms and averaging V': [softmax, fixed('softmax-online', 2e-7, 0), averaging()],
  'three draws': [drawn('favor-pos', 0.3, FEW), drawn('rfa', 0.4, {...FEW, start: 2}, twice(64))],
  'twelve layers': Array.from({length: 12}, (_, layer) => [
    drawn('favor-pos', 0.1 + layer / 20, {layer, start: layer}),
    fixed('elu', 0.5, 32, {layer}),
    averaging({layer}),
  ]).flat(),
  'scales and lengths': [0.5, 1, 2].flatMap(scale =>
    [256, 1024].flatMap(seq_len => {
      const statistics = {...STATISTICS, sum_norm2: 9 * scale ** 2}
      const result = {query_len: seq_len, key_len: seq_len, statistics}
      return [
        drawn('favor-pos', 0.04 * 5 ** (2 * scale), {scale, seq_len}, result),
        {...averaging({scale, seq_len}), result: {...averaging().result, ...result}},
      ]
    }),
  ),
  'layers, in some of which averaging V is better': layersOf([0.3, 1.5, 1.5]),
  'failures and skips': [drawn('favor-pos', 0.3), ...trouble],
  'thirty methods': [
    ...Array.from({length: 30}, (_, at) =>
      both(`method-${at}`, [0.4 + at / 90, 0.3 + at / 90]),
    ).flat(),
    averaging(),
    softmax,
    ...['a', 'b', 'c'].map(why => skippedSweep(why, {method: 'rfa-gate'})),
  ],
  'a limit alone': [matched(0.12, UNIT)],
  'two limits': [matched(0.12, UNIT), matched(0.3, 'squared dot products', 'favor-x')],
  'row metrics and a precision': [
    drawn(
      'favor-pos',
      0.3,
      {
        until_ci: {metric: 'rel_l2', relative_half_width: 0.05, max_replicates: 40},
        row_metrics: true,
      },
      {
        ...{replicates_run: 20, stopped_by: 'precision', row_kl_nats: metric(0.12)},
        ...{row_total_variation: metric(0.21), row_top1_agreement: metric(0.6)},
      },
    ),
    averaging(),
  ],
  'long names of files, methods and options': [1, 2, 3].map(at =>
    drawn(`favor-of-a-plug-in-with-a-long-name-${at}`, 0.3 * at, {
      input: {kind: 'file', paths: LONG, names: {query: 'q', key: 'k', value: 'v'}},
      options: {normalizerEpsilon: 0.000001, numericalStabilizer: 0.001},
    }),
  ),
}

describe('errorSweepScreen', () => {
  it.each(Object.entries(RUNS))('fits 20 lines of 80 columns: %s', (_, records) => {
    expect(screen(records)).toMatchSnapshot()
  })

  it('is empty without records', () => expect(screen([])).toBe(''))

  it.each<[string, readonly ErrorSweepRecord[]]>([
    [
      'favor-pos orth M=64 is 142 % [136, 145] off, more than averaging V',
      [drawn('favor-pos', 1.4), averaging()],
    ],
    ['elu does not come close to exact attention: it is 70 % off.', [fixed('elu', 0.7, 32)]],
    ['softmax equals exact attention up to float32 rounding.', [softmax]],
    ['Averaging V, which ignores q and k, is 94 % off.', [averaging()]],
    [
      'No method with up to M=64 has a lower error than averaging V for any of the 3 layers.',
      layersOf([1.3, 1.5, 1.5]),
    ],
    ['- 1 cell skipped (identity): no causal form', trouble],
  ])('says: %s', (sentence, records) => {
    expect(screen(records).replaceAll(/\s+/g, ' ')).toContain(sentence)
  })

  it('says that a method is at its limit where less than a third of its error is off that', () => {
    const noteOf = (off: number) =>
      screen([
        ...both('rfa', [0.5, 0.3], {}, twice),
        ...both('rfa', [0.4, off], {target: 'matched'}, twice),
        averaging(),
      ])
        .split('\n')
        .find(line => line.startsWith('rfa'))
    expect(noteOf(0.09)).toContain('at its limit')
    expect(noteOf(0.12)).not.toContain('at its limit') // 40 % of the error
  })

  it('says that exact attention is zero where errors are unknown for that alone', () => {
    const none = {...drawn('favor-pos', 1).result.mse, max: 0, median: 0, mean: 0, min: 0}
    const result = {mse: none, not_finite_pct: none}
    const records = [replicated([null, null, null], {method: 'favor-pos', causal: false}, result)]
    const text = screen(records)
    expect(text).toContain('Exact attention is zero here, so no error relative to it exists.')
    expect(text).toContain('exact attention is zero\n')
    expect(text).not.toContain('broken')
  })

  it('says that one draw has no interval', () => {
    const text = screen([drawn('favor-pos', 0.3, {replicates: 1})])
    expect(text).toContain('|estimate-exact|/|exact|, 1 draw: no interval.')
    expect(text).not.toContain('range over')
  })

  it('says first where averaging V is exact like all others', () => {
    const exact = (method: string) => drawn(method, 1e-7)
    const said = screen(['favor-pos', 'mean-value'].map(exact)).replaceAll(/\s+/g, ' ')
    expect(said).toContain('ignores q and k, is exact here up to float32 rounding.')
    expect(said).not.toContain('equals exact attention')
  })

  it('says that averaging V is exact where V hardly varies', () => {
    const records = [drawn('favor-pos', 0.01, {}, {mse_over_mean_value: null})]
    expect(screen(records).replaceAll(/\s+/g, ' ')).toContain(
      'This input cannot tell methods apart: averaging V, which ignores q and k, is exact here, as V hardly varies.',
    )
  })
})

describe('what the screen does not claim', () => {
  const said = (records: readonly CompletedSweep[]) => answerSentences(placesOf(records)).join(' ')

  it('ranks nothing where averaging V is close, too', () => {
    const near = 0.031
    const records = [
      ...both('favor-pos', [0.02, 0.01], {}, () => squares([0.02], near)),
      fixed('elu', 0.03, 32, {}, squares([0.03], near)),
      fixed('mean-value', near, 1, {}, squares([near], near)),
    ]
    const text = screen(records)
    expect(said(records)).toBe(
      'This input cannot tell methods apart: averaging V, which ignores q and k, is within 5 %, too: 3.1 % off.',
    )
    expect(text).not.toMatch(/best|distinguishable from it|rows of/)
    expect(said(records.slice(3))).toMatch(/^This input cannot tell methods apart/) // one method
  })

  it('says first how many settings cannot tell methods apart, and ranks the others', () => {
    const far = [drawn('favor-pos', 0.3, {layer: 0}), averaging({layer: 0})]
    const near = (layer: number) => [
      drawn('favor-pos', 0.001, {layer}, squares([0.001], 0.03)),
      fixed('mean-value', 0.03, 1, {layer}, squares([0.03], 0.03)),
    ]
    const text = said([...far, ...near(1), ...near(2)])
    expect(text).toMatch(/^2 of the 3 layers cannot tell methods apart: averaging V is within 5 %/)
    expect(text).toContain('is 30 % (layer 0')
    expect(said([...near(0), ...near(1), ...near(2)])).toMatch(
      /^None of the 3 layers can tell methods apart/,
    )
    expect(said([...far, ...near(1)])).toMatch(/In layer 1, this input cannot tell methods apart/)
  })

  it('names every row that the test cannot tell from the best', () => {
    const others = [
      ...both('favor-pos', [0.304, 0.3], {spread: 1}),
      drawn('oprf', 0.31, {spread: 1, start: 4}),
      averaging(),
    ]
    expect(said(others)).toContain(
      'Not distinguishable from it: favor-pos iid (M=64, 256) and oprf.',
    )
  })

  it('names the M up to which methods were tried', () => {
    expect(
      said([...both('favor-pos', [0.9, 0.86]), fixed('elu', 0.91, 32), averaging()]),
    ).toContain('No method with up to M=256 comes close')
    expect(said([fixed('elu', 0.91, 32), fixed('taylor', 0.92, 32), averaging()])).toContain(
      'No method comes close',
    )
  })

  it('gives the M for 5 % of the best row with its interval, not the least of several', () => {
    const iid = (count: number) => ({projection: 'iid' as const, num_features: count})
    const records = [
      drawn('favor-pos', 0.2, {num_features: 256}, needed(12_000)()),
      drawn('favor-pos', 0.24, iid(256), needed(9000)()),
      averaging(),
    ]
    expect(said(records)).toContain(
      'favor-pos orth would need about 12,000 [9,200, 16,000] random vectors (M) for 5 %',
    )
  })

  it('says what error is left at a stated M where 5 % is out of reach', () => {
    const records = [...both('favor-pos', [0.92, 0.86], {}, left(0.7)), averaging()]
    expect(said(records)).toMatch(
      /favor-pos (iid|orth) with M=4,096 would still be 70 % \[54, 91\] off; exact attention of 31 tokens is cheaper\.$/,
    )
  })

  it('says how large logits are where nobody asked for predictions', () => {
    const unasked = {prediction_unknown: 'not_asked'} as const
    expect(said([drawn('favor-pos', 0.9, {}, unasked), averaging()])).toMatch(
      /Logits are large \(mean \|q\+k\|\^2\/sqrt\(D\) = 9\.3, by head 9\.3 to 10\): `predictions` says which M an error of 5 % would take\.$/,
    )
    const statistics = {...STATISTICS, sum_norm2: 2}
    expect(said([drawn('favor-pos', 0.9, {}, {...unasked, statistics}), averaging()])).not.toMatch(
      /Logits/,
    )
  })

  it('asks for the scale of logits that no model has', () => {
    const statistics = {...STATISTICS, sum_norm2: 1e36}
    const records = [drawn('favor-pos', 0.9, {}, {statistics, ...left(0.7)()}), averaging()]
    expect(said(records)).toMatch(/Logits are huge \(mean .* = 1\.0e36\): is their scale right\?$/)
  })
})

describe('the answer', () => {
  /** A sweep of several methods, its yardstick measured or not. */
  const sweeps = fc.record({
    methods: fc.array(
      fc.record({
        error: fc.double({min: -4, max: 2, noNaN: true}).map(log => 10 ** log),
        spread: fc.constantFrom(0, 0.1, 1, 4),
        replicates: fc.constantFrom(1, 3, 6, 9),
        num_features: fc.constantFrom(16, 64, 256),
        projection: fc.constantFrom('iid', 'orth'),
        unusable: fc.boolean(),
      }),
      {maxLength: 12},
    ),
    average: fc.double({min: 0.1, max: 1.5, noNaN: true}),
    measured: fc.boolean(),
  })

  type Sweep = typeof sweeps extends fc.Arbitrary<infer T> ? T : never

  const recordsOf = ({methods, average}: Sweep, place: Partial<ErrorSweepCell> = {}) =>
    methods.map(({error, spread, unusable, ...cell}, start): CompletedSweep => {
      const errors = scattered(cell.replicates, start).map(factor => error * factor ** spread)
      return drawn(
        `m${start}`,
        error,
        {...cell, ...place, spread, start},
        {...squares(errors, average), ...(unusable && CHANGES_SIGN)},
      )
    })

  it('agrees with the numbers, in 20 lines', () => {
    fc.assert(
      fc.property(sweeps, sweep => {
        const {average, measured} = sweep
        const rows = recordsOf(sweep)
        const yardstick = fixed('mean-value', average, 1, {}, squares([average], average))
        const records = measured ? [...rows, yardstick] : rows
        screen(records)
        const said = answerSentences(placesOf(records)).join(' ')
        const better = rows.filter(({result}) => (result.mse_over_mean_value ?? 0) <= 1)
        const errors = better.map(({result}) => result.rel_l2.median!)
        if (records.length === 0) expect(said).toBe('')
        else if (rows.length === 0 || better.length > 0) {
          const least = rows.length === 0 ? average : Math.min(...errors)
          const digits = [2, 3].map(count => errorText(least, count).replace(/[x ].*/, ''))
          expect(said).toMatch(new RegExp(`\\b(${digits.join('|')})(x| %)`))
        } else
          expect(said).toMatch(
            /unusable|No method( with up to M=\d+)? has a lower error|(more than|not distinguishable from) averaging V/,
          )
        if (said.includes('comes within 5 %')) expect(Math.min(...errors)).toBeLessThanOrEqual(0.05)
        if (said.includes('close to')) expect(Math.min(...errors)).toBeGreaterThanOrEqual(0.5)
        if (rows.length > 0 && better.length > 0) expect(said).toMatch(/[Aa]veraging V/)
      }),
      {numRuns: FULL ? 60 : 20},
    )
  })

  it('agrees with the numbers of several layers, in 20 lines', () => {
    fc.assert(
      fc.property(fc.array(sweeps, {minLength: 2, maxLength: 14}), layers => {
        const places = layers
          .map((sweep, layer) => recordsOf(sweep, {layer}))
          .filter(({length}) => length > 0)
        screen(places.flat())
        if (places.length < 3) return
        const said = answerSentences(placesOf(places.flat())).join(' ')
        const lowest = places.flatMap(rows => {
          const better = rows.filter(({result}) => (result.mse_over_mean_value ?? 0) <= 1)
          return better.length > 0
            ? [Math.min(...better.map(own => own.result.rel_l2.median!))]
            : []
        })
        const none = places.length - lowest.length
        if (lowest.length === 0)
          expect(said).toMatch(/No method with up to M=\d+ has a lower error than averaging/)
        else {
          expect(said).toContain(`${errorText(Math.min(...lowest))} (layer`)
          if (said.includes('goes from')) {
            expect(said).toContain(` to ${errorText(Math.max(...lowest))} (layer`)
          }
          expect(said.includes(`For ${none} of the ${places.length} layers`)).toBe(none > 0)
          if (said.includes('within 5 %')) expect(Math.max(...lowest)).toBeLessThanOrEqual(0.05)
          if (said.includes('close to')) expect(Math.min(...lowest)).toBeGreaterThanOrEqual(0.5)
        }
      }),
      {numRuns: FULL ? 40 : 12},
    )
  })
})

describe('two places', () => {
  const logits = (scale: number, size: number, errors: readonly [number, number]) => [
    ...both('favor-pos', errors, {scale}, () => ({
      statistics: {...STATISTICS, sum_norm2: size},
      ...squares([errors[0]], 0.9),
    })),
    ...both('rfa', [0.845, 0.84], {scale, spread: 0.01}, twice),
    averaging({scale}),
    {...softmax, cell: {...softmax.cell, scale}},
  ]

  it('that differ in the size of logits stand side by side, the answer of each first', () => {
    const records = [...logits(1, 8.3, [0.88, 0.8]), ...logits(0.25, 0.52, [0.05, 0.023])]
    expect(screen(records)).toMatchSnapshot()
  })

  it('that do not differ beyond their intervals leave open what decides', () => {
    const records = [...logits(1, 8.3, [0.88, 0.8]), ...logits(0.25, 0.52, [0.88, 0.8])]
    const said = answerSentences(placesOf(records)).join(' ')
    expect(said).toContain('The size of logits, mean |q+k|^2/sqrt(D), goes from 0.52 to 8.3.')
    expect(said).not.toContain('decides')
  })

  it('that differ in more than one axis, or in the input, have a row each', () => {
    const [as, other] = [logits(1, 8.3, [0.88, 0.8]), logits(0.25, 0.52, [0.05, 0.023])]
    const layered = [as, other].flatMap((rows, layer) =>
      rows.map(row => ({...row, cell: {...row.cell, layer}})),
    )
    expect(screen(layered)).toContain('lowest error')
    expect(screen([...as, ...other])).not.toContain('lowest error')
  })

  it.each([
    [0.5, 'logits / 4'],
    [2, 'logits x 4'],
    [0.3, 'logits / 11'],
  ])('calls a factor %d on q and k by what logits become', (scale, name) => {
    const records = [...logits(1, 8.3, [0.88, 0.8]), ...logits(scale, 4, [0.3, 0.2])]
    expect(screen(records)).toContain(name)
  })
})

describe('a batch of texts', () => {
  const over = {rel_l2_over_texts: {mean: 0.26, low: 0.2, high: 0.35}}

  it('has the mean over texts and draws of the best method, named for what it is over', () => {
    const text = screen([
      drawn('favor-pos', 0.25, {}, {batch: 8, ...over}),
      drawn('rfa', 0.5, {}, {batch: 8}),
    ])
    expect(text.replaceAll(/\s+/g, ' ')).toContain(
      'over 8 texts and 9 draws: favor-pos orth M=64 is 26 % [20, 35] off on average',
    )
  })

  it('of two says nothing of others', () => {
    expect(screen([drawn('favor-pos', 0.25, {}, {batch: 2, ...over})])).not.toContain('texts')
    const three = screen([drawn('favor-pos', 0.25, {}, {batch: 3, ...over})])
    expect(three.replaceAll(/\s+/g, ' ')).toContain('95 % interval over 9 draws on these 3 texts.')
  })
})
