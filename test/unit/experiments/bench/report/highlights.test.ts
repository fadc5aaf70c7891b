import {describe, expect, it} from 'vitest'
import {benchHighlights} from '../../../../../src/experiments/bench/report/highlights.js'
import {exactForm, timed} from '../../../../helpers/records/bench.js'

const LENGTHS = [128, 256, 512]

describe('benchHighlights', () => {
  it('tells crossovers before growth', () => {
    const exact = LENGTHS.map((length, at) => exactForm('softmax', length, 1e6 * 4 ** at))
    const own = LENGTHS.map((seq_len, at) => timed({seq_len}, 3e6 * 2 ** at))
    expect(benchHighlights([...exact, ...own])).toEqual([
      'favor-pos orth M=64 overtakes softmax at L=384 [378, 390].',
      expect.stringMatching(
        /^The time of softmax grows as L\^2\.00 \[.*\] from 128 to 512 tokens\.$/,
      ),
      expect.stringMatching(/^The time of favor-pos orth M=64 grows as L\^1\.00 /),
    ])
  })

  it('has nothing to tell of one length without an exact form', () => {
    expect(benchHighlights([timed()])).toEqual([])
    expect(benchHighlights([])).toEqual([])
  })
})
