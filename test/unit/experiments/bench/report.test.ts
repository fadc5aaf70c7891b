import {describe, expect, it} from 'vitest'
import {decodeGain} from '../../../../src/experiments/bench/decode-report.js'
import {isSettled} from '../../../../src/experiments/bench/noise.js'
import {benchReport} from '../../../../src/experiments/bench/report.js'
import type {TimedRecord} from '../../../../src/experiments/bench/schema.js'
import {speedUp, trends} from '../../../../src/experiments/bench/trends.js'
import type {TableBlock} from '../../../../src/report/document.js'
import {renderTerminal} from '../../../../src/report/terminal.js'
import {factorOf, normalQuantile} from '../../../../src/stats/index.js'
import {decoded, exactForm, steady, timed} from '../../../helpers/records/bench.js'
import {WIDE} from '../../../helpers/terminal.js'

const EXACT = [128, 256, 512].flatMap((length, at) => [
  exactForm('softmax', length, 1e6 * 4 ** at),
  exactForm('softmax-online', length, 2e6 * 4 ** at),
])

describe('benchReport', () => {
  it('prints exact forms first, then speed-ups, growth and crossover', () => {
    const own = [128, 256, 512].map((seq_len, at) => timed({seq_len}, 3e6 * 2 ** at))
    expect(renderTerminal(benchReport([...own.reverse(), ...EXACT]), WIDE)).toMatchInlineSnapshot(`
      "Forward pass, B=1 H=2 D=17 Dv=13, bidirectional

      method          projection   M   F    L          median   vs softmax  vs softmax-online      live  RSS growth      p10
      --------------  ----------  --  --  ---  --------------  -----------  -----------------  --------  ----------  -------
      softmax         -            -   -  128  * 1.00 ms ±11%            -         2.00x ±13%  1.00 MiB    3.00 MiB   980 us
      softmax         -            -   -  256   * 4.00 ms ±7%            -          2.00x ±9%  1.00 MiB    3.00 MiB  3.92 ms
      softmax         -            -   -  512     16.0 ms ±6%            -          2.00x ±9%  1.00 MiB    3.00 MiB  15.7 ms
      softmax-online  -            -   -  128     2.00 ms ±8%  0.500x ±13%                  -  1.00 MiB    3.00 MiB  1.96 ms
      softmax-online  -            -   -  256     8.00 ms ±6%   0.500x ±9%                  -  1.00 MiB    3.00 MiB  7.84 ms
      softmax-online  -            -   -  512     32.0 ms ±6%   0.500x ±9%                  -  1.00 MiB    3.00 MiB  31.4 ms
      favor-pos       orth        64  64  128     3.00 ms ±7%  0.333x ±13%        0.667x ±10%  1.00 MiB    3.00 MiB  2.94 ms
      favor-pos       orth        64  64  256     6.00 ms ±6%   0.667x ±9%          1.33x ±9%  1.00 MiB    3.00 MiB  5.88 ms
      favor-pos       orth        64  64  512   * 12.0 ms ±6%    1.33x ±9%          2.67x ±9%  1.00 MiB    3.00 MiB  11.8 ms
      * lowest time at its L, ties included (the 95 % interval of the ratio holds 1).
      (too wide to show: GFLOP/s, quartiles, runs; a wider terminal, or a pipe to less -S, shows all)

      ±: reach of the 95 % interval of the median, in which runs that follow slow ones count for less, time spent waiting for
      a processor is not the method's, and other processes are taken to differ by 45 us and 3 % (one standard deviation).
      Speed-ups: ratios of times at the same length, turn by turn where cells took turns, each with the reach of its 95 %
      interval; ?: unsettled, that is beyond ±25 %. RSS growth: of resident memory over what the process held before it had
      inputs; - where less than what is counted, as memory freed before is used again. live: counted, the most bytes of
      tensors that a call holds at once beside inputs and output. GFLOP/s: operations of the method, counted (a multiply-add
      two, an exponential and the like ten), over the median; % of peak: of the fastest run, over the multiply-add peak of all
      its threads, measured before and after it.

      Growth with length, over the longest: time ~ L^slope

      method                lengths       slope    R^2
      -------------------  --------  ----------  -----
      softmax              128..512  2.00 ±0.09  1.000
      softmax-online       128..512  2.00 ±0.07  1.000
      favor-pos orth M=64  128..512  1.00 ±0.07  1.000

      - favor-pos orth M=64 overtakes softmax at L=384 [352, 419]
      - favor-pos orth M=64 overtakes softmax-online at L=192 [175, 210]

      - backend wasm (simd128), 1 thread; operations: softmaxAttention composite; accuracy gate passed by all: worst error
        1.00e-7 of at most 1.00e-5"
    `)
  })

  it('names redraw policy and signs where they are not the usual ones, and then also the mean', () => {
    const own = [128, 256].map(seq_len =>
      timed({seq_len, orth_sign: 'raw', redraw: 'every:4'}, 3e6),
    )
    const text = renderTerminal(benchReport(own), WIDE)
    expect(text).toMatch(/^method +projection +redraw +M +F +L +median +mean /m)
    expect(text).toMatch(/^favor-pos +orth \(raw signs\) +every:4 /m)
    expect(text).toContain('favor-pos orth (raw signs) redraw every:4 M=64')
  })

  it('marks shares of the multiply-add peak that cannot be, and says so', () => {
    // 3e6 operations in 0.8 of the median, on one thread
    const row = (median: number, threads: number) =>
      timed({}, median, {fma_peak_gflops: 100, threads, min_ns: 0.8 * median})
    const text = (...rows: [number, number]) =>
      renderTerminal(benchReport([row(...rows)]), {width: 400, colour: false})
    expect(text(37500, 1)).toMatch(/ 80\.0 +100 {2}/)
    expect(text(37500, 1)).not.toContain('warning')
    // 104 %: a clock that was higher then than in the measurement of the peak
    expect(text(36060, 1)).toMatch(/ 83\.2 +100 {2}/)
    expect(text(2.8e4, 1)).toMatch(/ 134 \(!\) {2}/)
    expect(text(2.8e4, 1)).toContain(
      'warning: favor-pos orth M=64 L=128 did 134 % of the work of the measured peak (100 GFLOP/s on each of 1 thread): either that peak or the work that is counted is wrong',
    )
    expect(text(2.8e4, 2)).toMatch(/ 107 +67 {2}/)
  })

  describe('of a busy machine', () => {
    /** Three runs of four take as long as they should, or a multiple: what a program beside them leaves. */
    const busy = (median: number) =>
      Array.from({length: 24}, (_, at) => median * [1, 1.1, 3, 1, 0.6, 2.2, 1, 12][at % 8]!)
    const rows = [128, 256, 512].flatMap((seq_len, at) => [
      ...EXACT.filter(({cell}) => cell.seq_len === seq_len),
      timed({seq_len}, 1, {samples_ns: busy(3e6 * 2 ** at)}),
    ])
    const text = renderTerminal(benchReport(rows), {width: 300, colour: false})

    it('marks ratios and slopes that are unsettled, and says how many, why and what to try', () => {
      expect(text.match(/x ±(>100|\d+)% \? +\d\S*x ±(>100|\d+)% \? /g)).toHaveLength(3)
      expect(text).toMatch(/^favor-pos orth M=64 +128\.\.512 +1\.00 ±\d\.\d\d \? +\d\S*$/m)
      expect(text).toMatch(/^softmax +128\.\.512 +2\.00 ±0\.09 +1\.000$/m)
      expect(text).toContain(
        '- unsettled (?): 6 of 12 speed-ups and 1 of 3 slopes, whose 95 % intervals reach beyond ±25 % (slopes: ±0.25): free the machine, or make calls longer with --seq-len or --batch',
      )
      expect(text).toContain(' ±>100%')
    })

    it('warns of outliers, of waiting and of drift, with the worst cell', () => {
      expect(text).toContain(
        '- warning: outliers are many in 3 of 9 cells: in favor-pos orth M=64 L=128 3 of 24 runs (3 severe), the slowest 11 times the median; medians withstand them, means do not',
      )
      expect(text).not.toContain('waited')
      expect(text).not.toContain('drift')
      const samples_ns = [...steady(3e6, 10), ...steady(1e6, 10)]
      const drifting = timed({}, 1, {samples_ns, waited_ns: 10e6})
      const warned = renderTerminal(benchReport([drifting, ...EXACT]), {...WIDE, width: 300})
      expect(warned).toContain(
        '- warning: the machine was busy: processes of 1 of 7 cells waited for a processor, most in favor-pos orth M=64 L=128, for 25 % of the time',
      )
      expect(warned).toContain(
        '- warning: times drift in 1 of 7 cells: in favor-pos orth M=64 L=128 from 3.00 ms (first third of the runs) to 1.00 ms (last third); --warmup leaves out more of the first ones',
      )
    })
  })

  it('has nothing to warn of, and nothing unsettled, where runs are steady', () => {
    const text = renderTerminal(benchReport([...EXACT, timed()]), WIDE)
    expect(text).not.toMatch(/^- (unsettled|warning)/m)
    expect(text).not.toMatch(/% \?/)
  })

  it('prints no quartiles and no interval of runs that are too few for them', () => {
    const once = [...EXACT, timed({}, 1, {samples_ns: [5e5]}), timed({num_features: 7}, 2e6)]
    const text = renderTerminal(benchReport(once), {width: 300, colour: false})
    expect(text).toMatch(/^favor-pos +orth +64 +64 +128 +500 us +2\.00x \? +4\.00x \? .* - +1$/m)
    expect(text).toContain('or which rest on fewer than 6 runs')
    const alone = renderTerminal(benchReport([timed({}, 1, {samples_ns: [5e5]})]), WIDE)
    expect(alone).not.toContain('quartiles')
    expect(alone).not.toMatch(/500 us ±/)
  })

  it('prints no growth of memory below what is counted', () => {
    // inputs and output: 4 bytes x 2 heads x 128 tokens x (17 + 17 + 13 + 13)
    const counted = 4 * 2 * 128 * 60 + 2 ** 20
    const text = (growth: number) =>
      renderTerminal(benchReport([timed({}, 1e6, {peak_rss_over_baseline_bytes: growth})]), WIDE)
    expect(text(counted)).toMatch(/^method.* live +RSS growth /m)
    expect(text(counted)).toMatch(/^favor-pos .* 1\.00 MiB +1\.06 MiB/m)
    expect(text(counted - 1)).not.toMatch(/^method.*RSS growth/m)
  })

  it('leaves out speed-ups and memory that were not measured', () => {
    const text = renderTerminal(
      benchReport([timed({}, 1e6, {peak_rss_over_baseline_bytes: null, operations: {}})]),
      WIDE,
    )
    expect(text).not.toContain('vs softmax')
    expect(text).not.toMatch(/^method.*RSS growth/m)
    expect(text).not.toContain('slope')
    expect(text).toContain('no custom operations')
  })

  describe('marks', () => {
    /** Times and memory that are marked, of each row of the first table. */
    const marked = (rows: readonly TimedRecord[]) => {
      const [block] = benchReport(rows).filter(({kind}) => kind === 'table')
      const {columns} = block as TableBlock
      const of = (title: string) => [
        ...(columns.find(own => own.title === title)?.best?.rows ?? []),
      ]
      return {time: of('median'), live: of('live')}
    }
    const other = (num_features: number, ...rest: [number, Partial<TimedRecord['result']>?]) =>
      timed({num_features}, ...rest)

    it('the least time and the least memory of each length', () => {
      const rows = [128, 256].flatMap(seq_len => [
        timed({seq_len}, 1e6, {live_bytes: 100}),
        timed({seq_len, num_features: 128}, seq_len === 128 ? 2e6 : 5e5, {live_bytes: 100}),
        timed({seq_len, num_features: 256}, 3e6, {live_bytes: 200}),
      ])
      // by M, then by length
      expect(marked(rows)).toEqual({time: [0, 3], live: [0, 1, 2, 3]})
    })

    it('all that noise does not tell from it, and none where that is all', () => {
      // processes differ by 3 % and 45 us: 8 % is within a ratio of two of them, 100 % is not
      expect(marked([other(7, 1e6), other(8, 1.08e6), other(9, 2e6)]).time).toEqual([0, 1])
      expect(marked([other(7, 1e6), other(8, 1.08e6)]).time).toEqual([])
    })

    it('no time where the least has too few runs, nor times with too few beside others', () => {
      const once = (ns: number) => ({samples_ns: [ns]})
      expect(marked([other(7, 5e5, once(5e5)), other(8, 1e6), other(9, 4e6)]).time).toEqual([])
      expect(marked([other(7, 8e6, once(8e6)), other(8, 1e6), other(9, 4e6)]).time).toEqual([1])
    })

    it('nothing of a layer without attention', () => {
      const cell = {mode: 'layer' as const, projection: null, num_features: null}
      const through = timed({...cell, method: 'identity'}, 1e5)
      const rows = [through, timed({mode: 'layer'}, 4e6), timed({...cell, method: 'elu'}, 1e6)]
      expect(marked(rows).time).toEqual([0])
    })
  })

  it('tells what failed', () => {
    const {schema, key, cell} = timed({}, 1)
    const error = {code: 'GATE_FAILED', message: 'error 0.3 exceeds 0.01'}
    const blocks = benchReport([{schema, key, cell, status: 'failed', error}])
    expect(renderTerminal(blocks, WIDE)).toBe(
      '- favor-pos failed: error 0.3 exceeds 0.01 (GATE_FAILED) [1 cell]',
    )
  })
})

describe('the report of layers', () => {
  it('names their width, and tells how near they come to one without attention', () => {
    const layer = {mode: 'layer' as const}
    const through = timed({...layer, method: 'identity', projection: null, num_features: null}, 5e6)
    const text = renderTerminal(benchReport([through, timed(layer, 1e7)]), WIDE)
    expect(text).toContain('Transformer layer of width 34, B=1 H=2 D=17 Dv=13, bidirectional')
    expect(text).toMatch(/^favor-pos +orth .* 0\.500x ±\d+% /m)
    expect(text).toMatch(/^method .* vs identity /m)
    expect(renderTerminal(benchReport([timed()]), WIDE)).not.toContain('vs identity')
  })
})

describe('the report of decodes', () => {
  const rows = [
    decoded({method: 'softmax', projection: null, num_features: null}, {token: 1e4, more: 2000}),
    decoded({}, {token: 4e4}),
  ]

  it('prints times to each length, of one token, state, speed-ups and crossover', () => {
    expect(renderTerminal(benchReport(rows.toReversed()), WIDE)).toMatchInlineSnapshot(`
      "Decoding token by token, B=1 H=2 D=17 Dv=13

      method     projection   M   F        to 25          to 100  vs softmax     token 100       state  tokens/s    first
      ---------  ----------  --  --  -----------  --------------  ----------  ------------  ----------  --------  -------
      softmax    -            -   -  840 us ±10%    10.9 ms ±10%           -   210 us ±10%    23.4 KiB      9090  50.0 us
      favor-pos  orth        64  64  960 us ±10%  * 3.96 ms ±10%  2.75x ±14%  40.0 us ±10%  * 12.0 KiB     25000  50.0 us
      * lowest time of its column, ties included (the 95 % interval of the ratio holds 1); lowest state, ties included.

      to t: time of the tokens up to the t-th, without the first, on which what a decoder makes ready falls (column first).
      token: time of one there, of one step of all sequences at once. ±: reach of the 95 % interval of the median of the runs,
      where other processes are taken to differ by 5 % (one standard deviation). Speed-ups: ratios of times to t, turn by turn
      where cells took turns, each with the reach of its 95 % interval; ?: unsettled, that is beyond ±25 %. state: held from
      token to token; a cache of keys and values has room for all of them from the start.

      Time of one token, by the tokens so far

      method                           64
      -------------------  --------------
      softmax                 138 us ±10%
      favor-pos orth M=64  * 40.0 us ±10%
      * lowest time of its column, ties included (95 % intervals overlap).

      Speed-up over softmax

      method                     to 25      to 100
      -------------------  -----------  ----------
      favor-pos orth M=64  0.875x ±14%  2.75x ±14%

      - favor-pos orth M=64 is faster than softmax from L=64 on; unsettled at 25

      - backend wasm (simd128), 1 thread; operations: softmaxAttention composite; accuracy gate passed by all: worst error
        1.00e-7 of at most 1.00e-5"
    `)
  })

  it('stands beside that of forward passes', () => {
    const text = renderTerminal(benchReport([...EXACT, ...rows]), WIDE)
    expect(text).toMatch(/^Forward pass, .*^Decoding token by token, /ms)
  })

  it('marks speed-ups of runs that differ, and goes without an exact form', () => {
    const wild = Array.from({length: 8}, (_, at) => [1, 3, 0.5, 2][at % 4]!)
    const text = renderTerminal(benchReport([rows[0]!, decoded({}, {token: 4e4}, wild)]), WIDE)
    expect(text).toMatch(/^favor-pos orth M=64 +\S+x ±>100% \? +\S+x ±>100% \?$/m)
    expect(text).toContain('- unsettled (?): 2 of 2 speed-ups')
    expect(renderTerminal(benchReport([rows[1]!]), WIDE)).not.toContain('Speed-up over')
  })
})

describe('speed-ups of decodes', () => {
  /** Every other turn of two is three times slower, for all alike. */
  const shared = [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3].map(
    (slow, at) => slow * (1 + 0.01 * (at % 3)),
  )
  const inTurns = (record: TimedRecord): TimedRecord => ({
    ...record,
    result: {...record.result, turn_runs: shared.map(() => 1)},
  })
  const exact = {method: 'softmax', projection: null, num_features: null}
  const pair = [decoded(exact, {token: 8e4}, shared), decoded({}, {token: 4e4}, shared)] as const

  it('go turn by turn: what disturbs all alike is not in them', () => {
    const [slow, fast] = pair.map(inTurns) as [TimedRecord, TimedRecord]
    const gain = decodeGain(fast, slow, 100)!
    expect(gain.value).toBeCloseTo(2, 9)
    // nothing is left but what processes are taken to differ by, 5 % each
    const one = 1 + 0.05 * normalQuantile(0.975)
    expect(factorOf(gain)).toBeCloseTo(one ** Math.SQRT2, 9)
    expect(isSettled(decodeGain(pair[1], pair[0], 100)!)).toBe(false)
    expect(decodeGain(fast, slow, 33)).toBeNull()
  })
})

describe('speedUp', () => {
  it('is the ratio of medians at the same length', () => {
    const {value, low, high} = speedUp(timed({seq_len: 256}, 1e6), EXACT, 'softmax')!
    expect(value).toBe(4)
    // runs of both are within 2 %; processes would differ by 3 % and 45 us of 4 ms and of 1 ms, 1.96 times of which are 6 and 11 %
    expect(low).toBeGreaterThan(4 / 1.15)
    expect(low).toBeLessThan(4 / 1.11)
    expect(high).toBeCloseTo(16 / low, 9)
  })

  it('is not known of calls so short that processes differ by more, however steady their runs', () => {
    expect(isSettled(speedUp(timed({seq_len: 256}, 1e6), EXACT, 'softmax')!)).toBe(true)
    expect(isSettled(speedUp(timed({seq_len: 256}, 2e5), EXACT, 'softmax')!)).toBe(false)
  })

  it('is unknown for the baseline itself and where the baseline was not timed', () => {
    expect(speedUp(EXACT[0]!, EXACT, 'softmax')).toBeNull()
    expect(speedUp(timed({seq_len: 31}, 1e6), EXACT, 'softmax')).toBeNull()
  })
})

describe('trends', () => {
  const crossovers = (...medians: number[]) => {
    const own = medians.map((median, at) => timed({seq_len: 128 * 2 ** at}, median))
    return trends([...EXACT, ...own]).find(({label}) => label.startsWith('favor'))?.crossovers[0]
      ?.statement
  }

  it('finds the exponent of an exact power law', () => {
    const [trend] = trends([128, 256, 512].map(length => exactForm('softmax', length, length ** 2)))
    expect(trend?.growth?.lengths).toEqual([128, 256, 512])
    // three points on a line: least squares leaves rounding of a few units in the last place
    expect(Math.abs((trend?.growth?.slope.value ?? 0) - 2)).toBeLessThan(2 ** -48)
  })

  it('sees where times leave the line by more than their intervals', () => {
    const bentOf = (...times: number[]) =>
      trends(times.map((time, at) => exactForm('softmax', 128 * 2 ** at, time)))[0]?.growth?.bent
    expect(bentOf(1e7, 2e7, 4e7)).toBe(false)
    expect(bentOf(1e7, 2.1e7, 4e7)).toBe(false) // the line misses by 3 %, and processes may differ by 6
    expect(bentOf(1e7, 1e7, 4e7)).toBe(true)
  })

  it('interpolates the crossover on straight lines in log-log axes', () => {
    // gains 1/4, 1/2 ... 4 are symmetric about the middle of 256 and 512: 256 * sqrt(2) = 362
    expect(crossovers(4e6, 8e6, 8e6)).toBe('overtakes softmax at L=362 [346, 378]')
  })

  it('says so when a method is faster everywhere, or nowhere', () => {
    expect(crossovers(5e5, 1e6, 2e6)).toBe(
      'is faster than softmax at every length measured, from L=128 to 512',
    )
    expect(crossovers(2e6, 8e6, 32e6)).toBe(
      'does not overtake softmax within the lengths measured: it is slower up to L=512',
    )
  })

  it('counts from the last length at which the method is slower', () => {
    expect(crossovers(5e5, 8e6, 8e6)).toBe('stays faster than softmax at L=362 [346, 378]')
  })

  it('has nothing to say about a single length', () => {
    expect(trends([timed()])).toMatchObject([{growth: null, crossovers: []}])
  })

  it('takes the exponent over the top two octaves, or the three longest lengths', () => {
    const lengthsOf = (...lengths: number[]) =>
      trends(lengths.map(length => exactForm('softmax', length, length ** 2)))[0]?.growth?.lengths
    expect(lengthsOf(128, 256, 512, 1024, 1536, 2048)).toEqual([512, 1024, 1536, 2048])
    expect(lengthsOf(128, 512, 2048, 8192)).toEqual([512, 2048, 8192])
    expect(lengthsOf(128, 8192)).toEqual([128, 8192])
  })
})
