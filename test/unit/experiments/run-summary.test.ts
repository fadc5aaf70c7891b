import {describe, expect, it} from 'vitest'
import type {ReportedRun} from '../../../src/experiments/run-report.js'
import {answersText, runSummary} from '../../../src/experiments/run-summary.js'
import {sweep as sweepPlan} from '../../helpers/plans.js'
import {BENCH_MANIFEST, timed} from '../../helpers/records/bench.js'
import {sweep} from '../../helpers/records/error-sweep.js'
import {failed, interrupted} from '../../helpers/records/outcomes.js'

const run = (changes: Partial<ReportedRun> = {}): ReportedRun => ({
  directory: 'results/x',
  manifest: BENCH_MANIFEST,
  records: [timed()],
  foreign: 0,
  cells: 1,
  resumeCommand: null,
  ...changes,
})

describe('runSummary', () => {
  it('reports in words what was run, when, where, and by which command', async () => {
    const {title, what, facts, missing} = await runSummary(run())
    expect(title).toBe('bench: x')
    expect(what).toMatch(/^A benchmark of .*, (causal|bidirectional), .* tokens.*, M=.*\.$/)
    expect(Object.fromEntries(facts)).toMatchObject({
      made: expect.stringMatching(/^\d+ \w+ \d{4}, \d\d:\d\d UTC$/),
      seed: '7',
      command: 'rfa bench --quick',
    })
    expect(missing).toEqual([])
  })

  it('says of an unfinished run what is missing and how to go on, and what failed', async () => {
    const broken = failed(timed(), {code: 'CELL_CRASHED', message: 'gone'})
    const stopped = run({records: [broken], cells: 3, resumeCommand: 'rfa bench --resume'})
    expect((await runSummary(stopped)).missing).toEqual([
      '2 cells of 3 have not ended yet. Continue with: rfa bench --resume',
      '1 cell of 3 failed; the report says why.',
    ])
    const part = run({records: [timed(), interrupted(timed({seq_len: 256}))], cells: 2})
    expect((await runSummary(part)).missing).toEqual(['1 cell of 2 have not ended yet.'])
    const foreign = run({records: [], cells: 3})
    expect((await runSummary(foreign)).missing).toEqual(['3 cells of 3 have not ended yet.'])
    expect((await runSummary(run({cells: null}))).missing).toEqual([])
  })

  it('finds what records say, and no more than they do', async () => {
    const manifest = {...BENCH_MANIFEST, plan: sweepPlan()}
    const rows = (['iid', 'orth'] as const).map(projection => sweep({projection}))
    const {findings} = await runSummary(run({manifest, records: rows}))
    expect(findings[0]).toContain('is 25 % [20, 30] off exact attention')
    expect((await runSummary(run({manifest, records: []}))).findings).toEqual([])
  })
})

describe('answersText', () => {
  const verdict = (answer: 'yes' | 'no' | 'cannot_be_told', statement: string) => ({
    answer,
    statement,
  })
  const open = ['a', 'b', 'c'].map(name => verdict('cannot_be_told', name))

  it('puts certain answers first', () => {
    const mixed = [open[0]!, verdict('no', 'd'), open[1]!, verdict('yes', 'e')]
    expect(answersText(mixed)).toEqual(['d', 'e', 'a', 'b'])
  })

  it('counts open questions where there are many', () => {
    expect(answersText([...open, verdict('yes', 'e')])).toEqual([
      'e',
      expect.stringMatching(/^3 questions are inconclusive/),
    ])
  })
})
