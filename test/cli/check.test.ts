import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeEach, describe, expect, it, vi} from 'vitest'
import Check from '../../commands/check.js'
import {CHECK_GROUPS, type CheckOutcome} from '../../src/check/index.js'
import {checkedFacts, checkReport, checkScreen, countsText} from '../../src/report/check.js'
import {renderTerminal} from '../../src/report/terminal.js'
import {run, runner} from './services.js'

const PASSED: CheckOutcome = {
  check: 'shapes',
  group: 'shapes',
  status: 'passed',
  tried: ['bidirectional', 'causal', 'causal masked'],
  measured: 1e-7,
  bound: 2e-5,
}
const FAILED: CheckOutcome = {
  check: 'causality',
  group: 'laws',
  status: 'failed',
  tried: ['causal'],
  measured: Number.NaN,
  bound: 0,
  finding: 'changing token 9 and later ones changed row 3 by 0.02',
  advice: 'phi of a causal call',
}

const folder = mkdtempSync(join(tmpdir(), 'check-'))
afterAll(() => rmSync(folder, {recursive: true}))
beforeEach(() => {
  vi.clearAllMocks()
  runner.checkEstimator.mockResolvedValue([PASSED])
})

const check = (...argv: string[]) => run(Check, 'check', argv)

describe('rfa check', () => {
  it('prints counts by kind, and every difference beside its bound with --details', async () => {
    const {stdout, exitCode} = await check('elu')
    expect(stdout).toMatch(/^elu passes the one check that applies\.\n/)
    expect(stdout).toMatch(/^shapes +1$/m)
    expect(exitCode).toBe(0)
    const detailed = await check('elu', '--details')
    expect(detailed.stdout).toMatch(/^shapes +passed +1\.00e-7 +2\.00e-5 /m)
    expect(detailed.stdout).toContain('bidirectional; 2 more')
    expect(detailed.stdout).toContain('elu: 1 passed.')
  })

  it('reports a failure in full and exits with 1', async () => {
    runner.checkEstimator.mockResolvedValue([PASSED, FAILED])
    const {stdout, exitCode} = await check('elu')
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      'failed, causality: changing token 9 and later ones changed row 3 by 0.02. Look at phi of a causal call',
    )
    expect(stdout).toMatch(/^elu fails 1 of 2 checks\.$/m)
    expect(exitCode).toBe(1)
    expect((await check('elu', '--details')).stdout).toContain('elu: 1 passed, 1 failed.')
  })

  it('says that no mean was checked where none is declared', async () => {
    const skipped = {...PASSED, check: 'kernel mean', status: 'not applicable'} as const
    runner.checkEstimator.mockResolvedValue([PASSED, skipped])
    expect((await check('eva')).stdout).toMatch(
      /^eva passes 1 check; its mean was not checked: it declares none\.\n/,
    )
    const own = checkedFacts('mine', '/mine.js', [PASSED, skipped])
    const [answer] = renderTerminal(checkScreen([own]), {width: 80, colour: false}).split('\n')
    expect(answer).toBe('mine passes 1 check; its mean was not checked: state `unbiasedFor`.')
    const both = checkScreen([own, checkedFacts('elu', null, [PASSED])])
    expect(renderTerminal(both, {width: 80, colour: false})).toMatch(
      /mine passes 1 check; .*\. elu passes\nthe one/,
    )
  })

  it('warns with exit code 0', async () => {
    const warning = {...FAILED, status: 'warning', check: 'large norms'} as const
    runner.checkEstimator.mockResolvedValue([PASSED, warning])
    const {stdout, exitCode} = await check('elu', '--strict')
    expect(stdout).toContain('- warning, large norms: changing token 9')
    expect(exitCode).toBe(0)
  })

  it('says what stays undecided, which fails under --strict', async () => {
    const open = {...PASSED, check: 'kernel mean', status: 'not measurable'} as const
    runner.checkEstimator.mockResolvedValue([PASSED, open])
    const {stdout, exitCode} = await check('elu')
    expect(stdout).toMatch(/^elu passes 1 check, 1 undecided\.\n/)
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      'elu: declared, and not decided in the time: kernel mean; try --max-time 60',
    )
    expect(exitCode).toBe(0)
    expect((await check('elu', '--strict')).exitCode).toBe(1)
    const document = JSON.parse((await check('elu', '--json')).stdout)
    expect(document.estimators[0]).toMatchObject({passed: true, unchecked: ['kernel mean']})
  })

  it('draws as much as it takes within a time, unless the draws are given', async () => {
    await check('elu')
    expect(runner.checkEstimator.mock.lastCall![0]).toMatchObject({draws: undefined, seconds: 10})
    await check('elu', '--max-time', '2.5')
    expect(runner.checkEstimator.mock.lastCall![0]).toMatchObject({seconds: 2.5})
  })

  it('asks for the groups, the seed and the draws that were typed, and for all groups else', async () => {
    await check('elu', '--only', 'laws,gradients', '--seed', '7', '--draws', '500')
    expect(runner.checkEstimator.mock.lastCall![0]).toMatchObject({
      method: 'elu',
      groups: ['laws', 'gradients'],
      seed: 7,
      draws: 500,
    })
    await check('elu', 'rfa', 'elu')
    expect(runner.checkEstimator.mock.calls.map(([{method}]) => method)).toEqual([
      'elu',
      'elu',
      'rfa',
    ])
    expect(runner.checkEstimator.mock.lastCall![0].groups).toHaveLength(8)
  })

  it('prints one document under --json, in which what is not finite is null', async () => {
    runner.checkEstimator.mockResolvedValue([FAILED])
    const {stdout, exitCode} = await check('elu', '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      schema: 'rfa.check/1',
      passed: false,
      estimators: [{name: 'elu', plugin: null, checks: [{measured: null, bound: 0}]}],
    })
    expect(exitCode).toBe(1)
  })

  it.each([
    [
      ['rfaa'],
      2,
      /check: expected one of the methods.*got "rfaa"[\s\S]*did you mean rfa\?[\s\S]*\.\/rfaa\.js/,
    ],
    [['./nowhere.js'], 3, /nowhere\.js: expected a plug-in, an ES module, got no such file/],
    [[], 2, /ESTIMATOR: expected files of plug-ins, and names of estimators, got nothing/],
    [
      ['elu', '--only', 'law'],
      2,
      /--only: expected one of the groups facts.*\n.*did you mean laws\?/,
    ],
    [['elu', '--draws', '5'], 2, /--draws: expected an integer from 100 to 100000, got 5/],
    [['elu', '--seed', '-1'], 2, /--seed/],
    [['elu', '--max-time', '-1'], 2, /--max-time: expected seconds from 0 to 1e9, got -1/],
    [['elu', '--max-time', '9', '--draws', '500'], 2, /--draws.*--max-time|--max-time.*--draws/],
  ] as const)('%j is refused', async (argv, code, message) => {
    const {stderr, exitCode} = await check(...argv)
    expect(stderr).toMatch(message)
    expect(exitCode).toBe(code)
  })

  it('refuses a file without an estimator before anything is checked', async () => {
    const file = join(folder, 'empty.mjs')
    writeFileSync(file, 'export const nothing = 1\n')
    const {stderr, exitCode} = await check('elu', file)
    expect(stderr).toMatch(/empty\.mjs: exports: expected a default export, an estimator/)
    expect(exitCode).toBe(3)
    expect(runner.checkEstimator).not.toHaveBeenCalled()
  })
})

describe('the first screen of checks', () => {
  const groups = CHECK_GROUPS.flatMap(group =>
    [1, 2, 3].map(at => ({...PASSED, group, check: `${group} ${at}`})),
  )
  const failures = Array.from({length: 7}, (_, at) => ({...FAILED, check: `law ${at}`}))
  const skipped = {...PASSED, check: 'kernel variance', status: 'not applicable' as const}
  const open = {...PASSED, check: 'output mean', status: 'not measurable' as const}
  const RUNS = {
    'all pass': [checkedFacts('elu', null, [...groups, skipped])],
    'some fail': [checkedFacts('mine', '/mine.js', [...groups, ...failures, open, skipped])],
    'several estimators': ['elu', 'rfa', 'mine'].map((name, at) =>
      checkedFacts(name, null, at === 2 ? [...groups, FAILED] : groups),
    ),
  }

  it.each(Object.entries(RUNS))('fits a terminal: %s', (_, checked) => {
    const screen = renderTerminal(checkScreen(checked), {width: 80, colour: false})
    expect(screen.split('\n').length).toBeLessThanOrEqual(checked[0]!.passed ? 22 : 30)
    expect(screen).toMatchSnapshot()
  })
})

describe('a report of checks', () => {
  it('counts them by how they ended', () => {
    const {checks} = checkedFacts('mine', '/mine.js', [PASSED, FAILED, PASSED])
    expect(countsText(checks)).toBe('2 passed, 1 failed')
  })

  it('lists failures alone', () => {
    const blocks = checkReport(checkedFacts('mine', null, [PASSED, FAILED]))
    const lists = blocks.filter(({kind}) => kind === 'list')
    expect(lists).toHaveLength(1)
    expect(lists[0]).toMatchObject({items: [expect.stringMatching(/^failed, causality: /)]})
  })
})
