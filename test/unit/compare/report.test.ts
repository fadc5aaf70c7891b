import {describe, expect, it} from 'vitest'
import {compare} from '../../../src/compare/compare.js'
import {comparisonCsv, comparisonReport} from '../../../src/compare/report.js'
import {benchComparison} from '../../../src/experiments/bench/report/comparison.js'
import type {Comparison} from '../../../src/experiments/comparison.js'
import {renderTerminal} from '../../../src/report/terminal.js'
import type {CellRecord} from '../../../src/results/record.js'
import {BENCH_MANIFEST, inProcesses, timed} from '../../helpers/records/bench.js'
import {failed} from '../../helpers/records/outcomes.js'

const comparison = benchComparison as unknown as Comparison

function facts(a: readonly CellRecord[], b: readonly CellRecord[], strict = false) {
  const side = (directory: string, records: readonly CellRecord[]) => ({
    ...{directory, method: null, manifest: BENCH_MANIFEST, records, cells: records.length},
  })
  return compare({
    ...{experiment: 'bench', comparison, related: 'runs', strict},
    ...{a: side('before', a), b: side('after', b)},
    limits: [{quantity: 'time', percent: 10}],
  })
}

const lengths = [128, 256, 512]
const before = lengths.map(seq_len => timed({seq_len}, 1e7))
const after = [
  timed({seq_len: 128}, 1.5e7),
  timed({seq_len: 256}, 1, inProcesses([1e7, 1.05e7, 1.1e7])),
  failed(timed({seq_len: 512}), {code: 'X', message: 'it crashed'}),
]

describe('comparisonReport', () => {
  const text = (strict = false, width = 120) =>
    renderTerminal(comparisonReport(facts(before, after, strict), comparison), {
      width,
      colour: false,
    })

  it('has a line for each cell, without what all have', () => {
    expect(text()).toContain('In all lines: method favor-pos, projection orth, M=64, B=1, H=2')
    expect(text()).toMatch(
      /^128 +10\.0 ms +15\.0 ms +1\.50 \[\S+ \S+\] +1\.00 .* slower +regression beyond 10%$/m,
    )
    expect(text()).toMatch(/^256 .* inconclusive {2}not judged at 10%$/m)
  })

  it('names what is beyond a limit, what could not be judged, and what was not compared', () => {
    const lines = text(false, 200).split('\n')
    expect(lines).toContain('- not compared: L=512: in A: measured; in B: failed, it crashed')
    expect(lines.find(line => line.startsWith('- regression'))).toMatch(
      /^- regression: time of L=128: 1\.50 \[.*\] times A, beyond 10%$/,
    )
    expect(lines).toContain(
      '- warning: could not judge time of L=256; all of L=512: measure more, or take a wider limit',
    )
    expect(lines.at(-1)).toBe('- failed time:10%: 1 regression, 1 of 3 lines judged')
    expect(text(true)).toContain('- fails (--strict): could not judge ')
  })

  it('names the only line in full, and says where there is none', () => {
    const one = comparisonReport(facts(before.slice(0, 1), after.slice(0, 1)), comparison)
    const shown = renderTerminal(one, {width: 200, colour: false})
    expect(shown).toMatch(/regression: time of method favor-pos, projection orth, M=64, L=128/)
    const none = comparisonReport(facts(before.slice(2), after.slice(2)), comparison)
    expect(renderTerminal(none, {width: 80, colour: false})).toContain('Nothing was compared.')
  })

  it.each([40, 60, 80, 100])('breaks no line in %i columns', width => {
    const long = text(false, width)
      .split('\n')
      .filter(line => line.length > width)
    expect(long).toEqual([])
  })
})

describe('comparisonCsv', () => {
  it('has all lines, and what was not compared with its reason', () => {
    const [header, ...rows] = comparisonCsv(facts(before, after)).trimEnd().split('\n')
    expect(header).toMatch(/^quantity,at,key_a,key_b,unit,a,b,ratio,.*,judgement,where,reason$/)
    expect(rows).toHaveLength(5)
    expect(rows[0]).toMatch(/^time,"?mode|^time,"?method=favor-pos;/)
    expect(rows.at(-1)).toMatch(/both,"?in A: measured; in B: failed, it crashed"?$/)
  })
})
