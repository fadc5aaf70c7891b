import {describe, expect, it} from 'vitest'
import {benchReport} from '../../../../src/experiments/bench/report.js'
import {speedUp, trends} from '../../../../src/experiments/bench/trends.js'
import {renderTerminal} from '../../../../src/report/terminal.js'
import {exactForm, timed} from '../../../helpers/records/bench.js'
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

      method          projection   M   F    L   median          quartiles  vs softmax  vs softmax-online  peak RSS      live
      --------------  ----------  --  --  ---  -------  -----------------  ----------  -----------------  --------  --------
      softmax         -            -   -  128  1.00 ms   900 us - 1.20 ms           -              2.00x  3.00 MiB  1.00 MiB
      softmax         -            -   -  256  4.00 ms  3.60 ms - 4.80 ms           -              2.00x  3.00 MiB  1.00 MiB
      softmax         -            -   -  512  16.0 ms  14.4 ms - 19.2 ms           -              2.00x  3.00 MiB  1.00 MiB
      softmax-online  -            -   -  128  2.00 ms  1.80 ms - 2.40 ms      0.500x                  -  3.00 MiB  1.00 MiB
      softmax-online  -            -   -  256  8.00 ms  7.20 ms - 9.60 ms      0.500x                  -  3.00 MiB  1.00 MiB
      softmax-online  -            -   -  512  32.0 ms  28.8 ms - 38.4 ms      0.500x                  -  3.00 MiB  1.00 MiB
      favor-pos       orth        64  64  128  3.00 ms  2.70 ms - 3.60 ms      0.333x             0.667x  3.00 MiB  1.00 MiB
      favor-pos       orth        64  64  256  6.00 ms  5.40 ms - 7.20 ms      0.667x              1.33x  3.00 MiB  1.00 MiB
      favor-pos       orth        64  64  512  12.0 ms  10.8 ms - 14.4 ms       1.33x              2.67x  3.00 MiB  1.00 MiB
      (too wide to show: runs, GFLOP/s; a wider terminal, or a pipe to less -S, shows all)

      Speed-ups are ratios of medians at the same length; peak RSS is over that of an idle process with the same backend; live
      is counted: the most bytes of tensors that a call holds beside inputs and output.

      Growth of the median with length: time ~ L^slope

      method                lengths  slope    R^2
      -------------------  --------  -----  -----
      softmax              128..512   2.00  1.000
      softmax-online       128..512   2.00  1.000
      favor-pos orth M=64  128..512   1.00  1.000

      - favor-pos orth M=64 is faster than softmax from about L=380 on (between 256 and 512)
      - favor-pos orth M=64 is faster than softmax-online from about L=190 on (between 128 and 256)

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
    expect(text(37500, 1)).toMatch(/ 100\n/)
    expect(text(37500, 1)).not.toContain('warning')
    expect(text(2.8e4, 1)).toMatch(/ 134 \(!\)\n/)
    expect(text(2.8e4, 1)).toContain(
      'warning: favor-pos L=128 did 134 % of the work of the measured peak (100 GFLOP/s on each of 1 thread): either that peak or the work that is counted is wrong',
    )
    expect(text(2.8e4, 2)).toMatch(/ 67\n/)
  })

  it('leaves out speed-ups and memory that were not measured', () => {
    const text = renderTerminal(
      benchReport([timed({}, 1e6, {peak_rss_over_baseline_bytes: null, operations: {}})]),
      WIDE,
    )
    expect(text).not.toContain('vs softmax')
    expect(text).not.toMatch(/^method.*peak RSS/m)
    expect(text).not.toContain('slope')
    expect(text).toContain('no custom operations')
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

describe('speedUp', () => {
  it('is the ratio of medians at the same length', () => {
    expect(speedUp(timed({seq_len: 256}, 1e6), EXACT, 'softmax')).toBe(4)
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
  }

  it('finds the exponent of an exact power law', () => {
    const [trend] = trends([128, 256, 512].map(length => exactForm('softmax', length, length ** 2)))
    expect(trend?.lengths).toBe('128..512')
    // three points on a line: least squares leaves rounding of a few units in the last place
    expect(Math.abs((trend?.slope ?? 0) - 2)).toBeLessThan(2 ** -48)
  })

  it('interpolates the crossover on straight lines in log-log axes', () => {
    // gains 1/4, 1/2 ... 4 are symmetric about the middle of 256 and 512: 256 * sqrt(2) = 362
    expect(crossovers(4e6, 8e6, 8e6)).toBe(
      'is faster than softmax from about L=360 on (between 256 and 512)',
    )
  })

  it('says so when a method is faster everywhere, or nowhere', () => {
    expect(crossovers(5e5, 1e6, 2e6)).toBe('is faster than softmax at every length from 128')
    expect(crossovers(2e6, 8e6, 32e6)).toBe('is not faster than softmax up to L=512')
  })

  it('counts from the last length at which the method is slower', () => {
    expect(crossovers(5e5, 8e6, 8e6)).toContain('between 256 and 512')
  })

  it('has nothing to say about a single length', () => {
    expect(trends([timed()])).toEqual([])
  })
})
