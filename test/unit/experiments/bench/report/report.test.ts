import {describe, expect, it} from 'vitest'
import {isSettled} from '../../../../../src/answers/index.js'
import {speedUp, trends} from '../../../../../src/experiments/bench/report/lines/trends.js'
import {benchReport} from '../../../../../src/experiments/bench/report/report.js'
import {decodeGain} from '../../../../../src/experiments/bench/report/tables/decode-report.js'
import type {BenchResult, TimedRecord} from '../../../../../src/experiments/bench/schema.js'
import {PairedTimes} from '../../../../../src/experiments/bench/times/paired-times.js'
import {FLOOR, medianOf} from '../../../../../src/experiments/bench/times/time-estimates.js'
import type {TableBlock} from '../../../../../src/report/document.js'
import {renderTerminal} from '../../../../../src/report/terminal.js'
import {studentQuantile, studentTest} from '../../../../../src/stats/index.js'
import {
  decoded,
  exactForm,
  inProcesses,
  oneProcess,
  steady,
  timed,
} from '../../../../helpers/records/bench.js'
import {WIDE} from '../../../../helpers/terminal.js'

const EXACT = [128, 256, 512].flatMap((length, at) => [
  exactForm('softmax', length, 1e6 * 4 ** at),
  exactForm('softmax-online', length, 2e6 * 4 ** at),
])

describe('benchReport', () => {
  it('prints exact forms first, then speed-ups, growth and crossover', () => {
    const own = [128, 256, 512].map((seq_len, at) => timed({seq_len}, 3e6 * 2 ** at))
    expect(renderTerminal(benchReport([...own.reverse(), ...EXACT]), WIDE)).toMatchInlineSnapshot(`
      "Forward pass, B=1 H=2 D=17 Dv=13, bidirectional

      method          projection   M   F    L         median             vs softmax      vs softmax-online      live      p10
      --------------  ----------  --  --  ---  -------------  ---------------------  ---------------------  --------  -------
      softmax         -            -   -  128  * 1.00 ms ±3%                      -     2.00x [1.95, 2.05]  1.00 MiB   978 us
      softmax         -            -   -  256  * 4.00 ms ±3%                      -     2.00x [1.95, 2.05]  1.00 MiB  3.92 ms
      softmax         -            -   -  512    16.0 ms ±3%                      -     2.00x [1.95, 2.05]  1.00 MiB  15.7 ms
      softmax-online  -            -   -  128    2.00 ms ±3%  0.500x [0.488, 0.513]                      -  1.00 MiB  1.96 ms
      softmax-online  -            -   -  256    8.00 ms ±3%  0.500x [0.488, 0.512]                      -  1.00 MiB  7.83 ms
      softmax-online  -            -   -  512    32.0 ms ±3%  0.500x [0.488, 0.512]                      -  1.00 MiB  31.3 ms
      favor-pos       orth        64  64  128    3.00 ms ±3%  0.333x [0.325, 0.342]  0.667x [0.650, 0.684]  1.00 MiB  2.94 ms
      favor-pos       orth        64  64  256    6.00 ms ±3%  0.667x [0.651, 0.683]     1.33x [1.30, 1.37]  1.00 MiB  5.88 ms
      favor-pos       orth        64  64  512  * 12.0 ms ±3%     1.33x [1.30, 1.37]     2.67x [2.60, 2.73]  1.00 MiB  11.7 ms
      * lowest time at its L, ties included (the 95 % interval of the ratio holds 1).
      (hidden: RSS growth, GFLOP/s, quartiles, runs; widen the terminal or pipe to less -S)

      Growth with length, over the longest: time ~ L^slope

      method                lengths       slope    R^2
      -------------------  --------  ----------  -----
      softmax              128..512  2.00 ±0.02  1.000
      softmax-online       128..512  2.00 ±0.02  1.000
      favor-pos orth M=64  128..512  1.00 ±0.02  1.000

      - favor-pos orth M=64 overtakes softmax at L=384 [375, 394]
      - favor-pos orth M=64 overtakes softmax-online at L=192 [187, 197]

      - ± and [ ]: 95 % intervals over fresh processes; ratios: of undisturbed calls (p10 of each process); on a shared host
        times of another run differ by more; ?: unsettled, an interval wider than ±25 % (docs/statistics.md)
      - live: bytes of tensors that a call holds at once, without inputs and output

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

  it('has no rate of work that is not counted', () => {
    const rows = [
      timed({method: 'elu'}, 1e6, {fma_peak_gflops: 100, threads: 1}),
      timed({}, 1e6, {work_flops: 0, fma_peak_gflops: 100, threads: 1}),
    ]
    const text = renderTerminal(benchReport(rows), {width: 400, colour: false})
    const cell = (method: string, title: string) => {
      const lines = text.split('\n')
      const head = lines.find(line => line.startsWith('method'))!
      const end = head.indexOf(title) + title.length
      return lines
        .find(line => line.startsWith(method))!
        .slice(0, end)
        .split(' ')
        .at(-1)
    }
    for (const title of ['GFLOP/s', '% of peak']) {
      expect(cell('elu', title), title).toMatch(/\d/)
      expect(cell('favor-pos', title), title).toBe('-')
    }
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

  describe('of times that are not settled', () => {
    /** Three processes, each of which has these turns of one run. */
    const turnsOf = (...processes: number[][]) => ({
      samples_ns: processes.flat(),
      turn_runs: processes.flat().map(() => 1),
      process_turns: processes.map(turns => turns.length),
    })
    /** What processes take over the usual time, otherwise at each length. */
    const APART = [
      [1, 1.9, 0.7],
      [0.6, 1, 1.8],
      [1.9, 0.6, 1],
    ]
    const scaled = (factors: readonly number[], median: number) => factors.map(x => x * median)
    /** Exact forms beside a method whose times are those of `own`. */
    const text = (own: (median: number, at: number) => Partial<BenchResult>) => {
      const rows = [128, 256, 512].flatMap((seq_len, at) => [
        ...EXACT.filter(({cell}) => cell.seq_len === seq_len),
        timed({seq_len}, 1, own(3e6 * 2 ** at, at)),
      ])
      return renderTerminal(benchReport(rows), {width: 300, colour: false})
    }

    it('marks ratios and slopes, and says how many', () => {
      const told = text((median, at) => inProcesses(scaled(APART[at]!, median)))
      expect(told.match(/x \[\S+, \S+\] \? +\S+x \[\S+, \S+\] \? /g)).toHaveLength(3)
      expect(told).toMatch(/^favor-pos orth M=64 +128\.\.512 +\d\.\d\d ±\d\.\d\d \? +\d\S*$/m)
      expect(told).toMatch(/^softmax +128\.\.512 +2\.00 ±0\.\d\d +1\.000$/m)
      expect(told).toContain(
        '- unsettled (?): 6 of 12 speed-ups and 1 of 3 slopes (slopes: wider than ±0.25); ',
      )
    })

    it('says that more processes help where these differ', () => {
      const turns = (median: number) => scaled([0.99, 1, 1.01], median)
      const told = text(median => turnsOf(turns(median), turns(1.9 * median), turns(0.7 * median)))
      // log 1, log 1.9 and log 0.7 have a standard deviation of 0.51; turns one of 1 %, of which sqrt(pi / 2 / 3) are left
      expect(told).toContain(
        'processes differ by 51 %, runs within one by 0.7 %; more --processes help most',
      )
    })

    it('says that longer calls or more time help where the runs of each do', () => {
      const turns = (median: number) => scaled([0.5, 1, 2], median)
      const told = text(median => turnsOf(turns(median), turns(1.3 * median), turns(0.8 * median)))
      // log 2 apart: 0.69 sqrt(pi / 2 / 3)
      expect(told).toContain(
        'processes differ by 0.0 %, runs within one by 50 %; longer calls (--batch, --seq-len) or a longer --min-time help most',
      )
    })

    it('says that one process tells nothing of others', () => {
      const told = text(median => oneProcess(steady(median, 50)))
      expect(told).toContain(
        '- unsettled (?): 6 of 12 speed-ups and 1 of 3 slopes (slopes: wider than ±0.25); one process has no interval, use --processes 3 or more',
      )
      expect(told).toMatch(/^favor-pos +orth +64 +64 +128 +3\.00 ms +0\.33\dx \? +0\.66\dx \? /m)
      expect(told).toMatch(/^favor-pos orth M=64 +128\.\.512 +1\.00 \? +1\.000$/m)
    })
  })

  it('warns of first runs that are slower in each process, with the worst cell', () => {
    const warming = (seq_len: number, factor: number) => {
      const runs = [...steady(factor * 1e6, 4), ...steady(1e6, 8)]
      const samples_ns = [1, 1.01, 0.99].flatMap(process => runs.map(x => process * x))
      return timed({seq_len}, 1, {samples_ns, turn_runs: [12, 12, 12], process_turns: [1, 1, 1]})
    }
    const text = renderTerminal(benchReport([warming(128, 1.5), warming(256, 2), ...EXACT]), {
      ...WIDE,
      width: 300,
    })
    expect(text).toContain(
      '- warning: the first runs are slower than the last ones in 2 of 8 cells, by 100 % in favor-pos orth M=64 L=256; a longer --warmup leaves them out',
    )
  })

  it('has nothing to warn of, and nothing unsettled, where runs are steady', () => {
    const text = renderTerminal(benchReport([...EXACT, timed()]), WIDE)
    expect(text).not.toMatch(/^- (unsettled|warning)/m)
    expect(text).not.toMatch(/[\]x] \? /)
  })

  describe('of an interrupted run', () => {
    const whole = timed({}, 3e6)
    const cut: TimedRecord = {
      ...timed({method: 'elu'}, 1, {...inProcesses([2e6, 2.02e6]), gate: null}),
      interrupted: true,
    }
    const alone: TimedRecord = {
      ...timed({method: 'cosformer'}, 1, {...oneProcess([1e6]), gate: null}),
      interrupted: true,
    }
    const text = (...rows: TimedRecord[]) =>
      renderTerminal(benchReport(rows), {width: 300, colour: false})

    it('tells what was measured, and of how many cells there is less', () => {
      const told = text(EXACT[0]!, whole, cut, alone)
      expect(told).toContain(
        '- warning: interrupted: fewer turns or processes than planned in 2 of 4 cells',
      )
      // 0.5 % to either side of their mean: t of one degree of freedom is 12.7
      expect(told).toMatch(/^elu .* 2\.01 ms ±7% +0\.\d{3}x \[/m)
      expect(told).toMatch(/^cosformer .* 1\.00 ms +[01]\.\d+x \? /m)
      expect(text(whole)).not.toContain('interrupted')
    })

    it('tells of the gates that were passed, where there are any', () => {
      expect(text(whole, cut)).toContain('accuracy gate passed by all: worst error 1.00e-7')
      expect(text(cut, alone)).not.toContain('gate')
    })
  })

  it('prints no quartiles and no interval of runs that are too few for them', () => {
    const once = [...EXACT, timed({}, 1, oneProcess([5e5])), timed({num_features: 7}, 2e6)]
    const text = renderTerminal(benchReport(once), {width: 300, colour: false})
    expect(text).toMatch(/^favor-pos +orth +64 +64 +128 +500 us +1\.9\dx \? +3\.9\dx \? .* - +1$/m)
    const alone = renderTerminal(benchReport([timed({}, 1, oneProcess([5e5]))]), WIDE)
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
      // processes 1 % apart: ratios of three of them are known within 2.5 times that, or sqrt(2) times as much
      expect(marked([other(7, 1e6), other(8, 1.005e6), other(9, 2e6)]).time).toEqual([0, 1])
      expect(marked([other(7, 1e6), other(8, 1.005e6)]).time).toEqual([])
      expect(marked([other(7, 1e6), other(8, 1.08e6)]).time).toEqual([0])
    })

    it('no time where the least has one process, nor times of one beside others', () => {
      const once = (ns: number) => oneProcess([ns])
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
    expect(text).toMatch(/^favor-pos +orth .* 0\.500x \[0\.4\d+, 0\.5\d+\] /m)
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

      method     projection   M   F         to 25         to 100          vs softmax    token 100       state  tokens/s
      ---------  ----------  --  --  ------------  -------------  ------------------  -----------  ----------  --------
      softmax    -            -   -  * 840 us ±3%    10.9 ms ±3%                   -   210 us ±3%    23.4 KiB      9090
      favor-pos  orth        64  64    960 us ±3%  * 3.96 ms ±3%  2.75x [2.71, 2.79]  40.0 us ±3%  * 12.0 KiB     25000
      * lowest time of its column, ties included (the 95 % interval of the ratio holds 1); lowest state, ties included.
      (hidden: first; widen the terminal or pipe to less -S)

      Time of one token, by the tokens so far

      method                          64
      -------------------  -------------
      softmax                 138 us ±3%
      favor-pos orth M=64  * 40.0 us ±3%
      * lowest time of its column, ties included (95 % intervals overlap).

      Speed-up over softmax

      method                               to 25              to 100
      -------------------  ---------------------  ------------------
      favor-pos orth M=64  0.875x [0.862, 0.889]  2.75x [2.71, 2.79]

      - favor-pos orth M=64 overtakes softmax at L=29.6 [29.0, 30.1]

      - ± and [ ]: 95 % intervals over fresh processes; ratios: of undisturbed calls (p10 of each process); on a shared host
        times of another run differ by more; ?: unsettled, an interval wider than ±25 % (docs/statistics.md)
      - to t: time of the tokens up to the t-th, without the first one, in which a decoder is made ready (column first);
        token: time of one token there, for all sequences; state: bytes kept between tokens, in a cache with room for all keys
        and values.

      - backend wasm (simd128), 1 thread; operations: softmaxAttention composite; accuracy gate passed by all: worst error
        1.00e-7 of at most 1.00e-5"
    `)
  })

  it('stands beside that of forward passes', () => {
    const text = renderTerminal(benchReport([...EXACT, ...rows]), WIDE)
    expect(text).toMatch(/^Forward pass, .*^Decoding token by token, /ms)
  })

  it('marks speed-ups of runs that differ, and goes without an exact form', () => {
    const wild = inProcesses([1, 3, 0.5])
    const text = renderTerminal(benchReport([rows[0]!, decoded({}, {token: 4e4}, wild)]), WIDE)
    expect(text).toMatch(/^favor-pos orth M=64 +\S+x \[\S+, \S+\] \? +\S+x \[\S+, \S+\] \?$/m)
    expect(text).toContain('- unsettled (?): 2 of 2 speed-ups')
    expect(renderTerminal(benchReport([rows[1]!]), WIDE)).not.toContain('Speed-up over')
  })
})

describe('speed-ups of decodes', () => {
  const exact = {method: 'softmax', projection: null, num_features: null}
  /** Every other process is three times slower, for all alike. */
  const pair = [
    decoded(exact, {token: 8e4}, inProcesses([1, 3, 1.01, 3.1])),
    decoded({}, {token: 4e4}, inProcesses([1, 3.02, 1, 3.1])),
  ] as const
  const times = new PairedTimes(pair)

  it('go process by process: what disturbs all alike is not in them', () => {
    const gain = decodeGain(pair[1], pair[0], 100, times)!
    const logs = [0, Math.log(3 / 3.02), Math.log(1.01), 0].map(log => Math.log(2) + log)
    const {estimate, standardError} = studentTest(logs)
    expect(Math.log(gain.value)).toMatchReference(estimate.value, 12)
    const error = Math.hypot(standardError, Math.SQRT2 * FLOOR)
    const reach = studentQuantile(0.975, 3 * (error / standardError) ** 4) * error
    expect(Math.log(gain.high)).toMatchReference(estimate.value + reach, 9)
    expect(isSettled(gain)).toBe(true)
    expect(isSettled(medianOf(pair[0]))).toBe(false)
    expect(decodeGain(pair[1], pair[0], 33, times)).toBeNull()
  })
})

describe('speedUp', () => {
  const fast = timed({seq_len: 256}, 1e6)
  const times = new PairedTimes([...EXACT, fast])

  it('is the ratio of times at the same length', () => {
    const {value, low, high} = speedUp(fast, EXACT, 'softmax', times)!
    expect(value).toMatchReference(4, 12)
    expect({value, low, high}).toEqual(times.ratio(EXACT[2]!, fast))
    // seven cells whose processes are 1 % apart: at most sqrt(2) % times 4.3 / sqrt(3)
    expect(low).toBeLessThan(4)
    expect(low).toBeGreaterThan(4 / 1.036)
    expect(high).toMatchReference(16 / low, 9)
  })

  it('is unknown for the baseline itself and where the baseline was not timed', () => {
    expect(speedUp(EXACT[0]!, EXACT, 'softmax', times)).toBeNull()
    expect(speedUp(timed({seq_len: 31}, 1e6), EXACT, 'softmax', times)).toBeNull()
  })
})

describe('trends', () => {
  const trendsOf = (rows: readonly TimedRecord[]) => trends(rows, new PairedTimes(rows))
  const crossovers = (...medians: number[]) => {
    const own = medians.map((median, at) => timed({seq_len: 128 * 2 ** at}, median))
    return trendsOf([...EXACT, ...own]).find(({label}) => label.startsWith('favor'))?.crossovers[0]
      ?.statement
  }

  it('finds the exponent of an exact power law', () => {
    const [trend] = trendsOf(
      [128, 256, 512].map(length => exactForm('softmax', length, length ** 2)),
    )
    expect(trend?.growth?.lengths).toEqual([128, 256, 512])
    // three points on a line: least squares leaves rounding of a few units in the last place
    expect(Math.abs((trend?.growth?.slope.value ?? 0) - 2)).toBeLessThan(2 ** -48)
  })

  it('sees where times leave the line by more than their intervals', () => {
    const bentOf = (...times: number[]) =>
      trendsOf(times.map((time, at) => exactForm('softmax', 128 * 2 ** at, time)))[0]?.growth?.bent
    expect(bentOf(1e7, 2e7, 4e7)).toBe(false)
    // the line misses by 1 and 2 %, and times are known within 2.5
    expect(bentOf(1e7, 2.06e7, 4e7)).toBe(false)
    expect(bentOf(1e7, 1e7, 4e7)).toBe(true)
  })

  it('interpolates the crossover on straight lines in log-log axes', () => {
    // gains 1/4, 1/2 ... 4 are symmetric about the middle of 256 and 512: 256 * sqrt(2) = 362
    expect(crossovers(4e6, 8e6, 8e6)).toBe('overtakes softmax at L=362 [358, 367]')
  })

  it('says so when a method is faster everywhere, or nowhere', () => {
    expect(crossovers(5e5, 1e6, 2e6)).toBe(
      'is faster than softmax at every length measured, from L=128 to 512',
    )
    expect(crossovers(2e6, 8e6, 32e6)).toBe(
      'is slower than softmax at every length measured, from L=128 to 512',
    )
  })

  it('counts from the last length at which the method is slower', () => {
    expect(crossovers(5e5, 8e6, 8e6)).toBe('stays faster than softmax at L=362 [358, 367]')
  })

  it('has nothing to say about a single length', () => {
    expect(trendsOf([timed()])).toMatchObject([{growth: null, crossovers: []}])
  })

  it('takes the exponent over the top two octaves, or the three longest lengths', () => {
    const lengthsOf = (...lengths: number[]) =>
      trendsOf(lengths.map(length => exactForm('softmax', length, length ** 2)))[0]?.growth?.lengths
    expect(lengthsOf(128, 256, 512, 1024, 1536, 2048)).toEqual([512, 1024, 1536, 2048])
    expect(lengthsOf(128, 512, 2048, 8192)).toEqual([512, 2048, 8192])
    expect(lengthsOf(128, 8192)).toEqual([128, 8192])
  })
})
