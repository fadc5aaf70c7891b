import {describe, expect, it} from 'vitest'
import {dryRunReport} from '../../../src/experiments/dry-run.js'
import {
  outcomeCounts,
  recordsReport,
  runReport,
  type SavedRun,
} from '../../../src/experiments/run-report.js'
import {doctorReport} from '../../../src/report/doctor.js'
import {renderMarkdown} from '../../../src/report/markdown.js'
import {renderTerminal} from '../../../src/report/terminal.js'
import {BENCH_MANIFEST, timed} from '../../helpers/records/bench.js'
import {sweep} from '../../helpers/records/error-sweep.js'
import {MACHINE} from '../../helpers/records/machine.js'
import {variance} from '../../helpers/records/variance.js'
import {WIDE} from '../../helpers/terminal.js'

const savedRun: SavedRun = {
  directory: 'results/x',
  manifest: BENCH_MANIFEST,
  records: [timed()],
  foreign: 0,
  cells: 1,
  resumeCommand: 'rfa bench --quick --output results/x --resume',
}

describe('runReport', () => {
  it('says how each run was made before its tables', () => {
    const text = renderMarkdown(runReport([savedRun, {...savedRun, directory: 'results/y'}]))
    expect(text).toContain(
      [
        '# bench: results/x',
        '',
        '- command: rfa bench --quick',
        '- made: 2026-01-02T03:04:05.000Z, seed 7, backend wasm',
        '- 1 cell: 1 completed, 0 skipped, 0 failed',
        '- machine: cpu Test CPU, cores 4, usable 2, memory 8.00 GiB, platform linux x64, node v20.19.0, rfa 0.1.0 (abc1234), tfjs 4.22.0',
      ].join('\n'),
    )
    expect(text).toContain('# bench: results/y')
    expect(text).toContain('| favor-pos |')
  })

  it('says so when no cell has finished', () => {
    const text = renderTerminal(runReport([{...savedRun, records: []}]), WIDE)
    expect(text).toContain('- 0 of 1 cell, incomplete')
    expect(text).toContain('No cell of this run has finished yet.')
  })

  it('says how many records it leaves out', () => {
    expect(renderTerminal(runReport([{...savedRun, foreign: 2}]), WIDE)).toContain(
      '- left out: 2 records of no cell of this plan, or under the key of another\n',
    )
  })

  it('says that a run stopped early, and how to go on', () => {
    expect(renderTerminal(runReport([{...savedRun, cells: 19}]), WIDE)).toContain(
      [
        '- 1 of 19 cells, incomplete: 1 completed, 0 skipped, 0 failed',
        '- resume with: rfa bench --quick --output results/x --resume',
      ].join('\n'),
    )
  })

  it.each([1, null])('asks for nothing more where the plan has %s cells', cells => {
    const text = renderTerminal(runReport([{...savedRun, cells}]), WIDE)
    expect(text).toContain('- 1 cell: 1 completed, 0 skipped, 0 failed\n- machine')
  })

  it.each([
    ['error-sweep', sweep(), 'Error against softmax'],
    ['bench', timed(), 'Forward pass'],
    ['variance', variance(), 'Kernel estimates'],
  ] as const)('prints the tables of %s', (experiment, record, title) => {
    expect(renderTerminal(recordsReport(experiment, [record]), WIDE)).toContain(title)
  })
})

describe('outcomeCounts', () => {
  it('counts how cells ended', () => {
    const ended = ['completed', 'failed', 'completed'] as const
    expect(outcomeCounts(ended.map(status => ({status})))).toEqual({
      completed: 2,
      skipped: 0,
      failed: 1,
    })
  })
})

describe('dryRunReport', () => {
  const dryRun = {plan: BENCH_MANIFEST.plan, cells: 1, peakBytes: 2 ** 21, cellLabels: ['elu L=7']}

  it('tells cells, time and memory', () => {
    expect(renderTerminal(dryRunReport({...dryRun, predictedSeconds: 90}), WIDE)).toBe(
      'bench: 1 cell, predicted time 90.0 s, predicted peak memory 2.00 MiB\n\n- elu L=7',
    )
  })

  it('lists forty cells and counts the others', () => {
    const cellLabels = Array.from({length: 43}, (_, at) => `cell ${at}`)
    const blocks = dryRunReport({...dryRun, cells: 43, cellLabels, predictedSeconds: null})
    const text = renderTerminal(blocks, WIDE)
    expect(text).toContain('predicted time unknown')
    expect(text.match(/^- cell/gm)).toHaveLength(40)
    expect(text).toContain('and 3 more; --json lists all')
  })
})

describe('doctorReport', () => {
  it('gives reason and remedy of what is missing', () => {
    const backends = [
      {name: 'tensorflow', available: false, detail: 'libtensorflow', reason: 'not installed'},
      {name: 'gpu', available: false, detail: 'none', reason: 'no device', remedy: 'add one'},
      {name: 'cpu', available: true, detail: 'plain JavaScript'},
    ]
    const text = renderTerminal(doctorReport({backends, machine: MACHINE}), WIDE)
    expect(text).toMatch(/^tensorflow {2}no +libtensorflow$/m)
    expect(text).toMatch(/^cpu {9}yes +plain JavaScript$/m)
    expect(text).toContain('- tensorflow: not installed\n- gpu: no device; add one')
    expect(text).toMatch(/^cores +4, usable 2$/m)
  })
})
