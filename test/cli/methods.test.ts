import {describe, expect, it} from 'vitest'
import Methods from '../../commands/methods.js'
import {comparisonCsv} from '../../src/compare/report.js'
import {EXPERIMENT_NAMES} from '../../src/experiments/index.js'
import {run} from './services.js'

describe('rfa methods', () => {
  it('lists all, or shows one, or what a preset does', async () => {
    const methods = (...argv: string[]) => run(Methods, 'methods', argv)
    expect((await methods()).stdout).toMatch(/^yardsticks +mean-value, identity$/m)
    expect((await methods('--details')).stdout).toMatch(/^mean-value /m)
    expect((await methods('--markdown')).stdout).toMatch(/^\| mean-value /m)
    expect((await methods('rfa')).stdout).toContain('Options (--option NAME=VALUE)')
    expect((await methods('--projections')).stdout).toMatch(
      /^unbiased for the softmax kernel +iid, orth, simplex/m,
    )
    const detailed = await methods('--projections', '--details')
    expect(detailed.stdout).toMatch(/^orth +blocks of D orthogonal/m)
    expect((await methods('--preset', 'noahs-ark')).stdout).toMatch(/^rfa +features scaled/m)
    const {stdout} = await methods('favor-pos', '--json', '--num-features', '31')
    expect(JSON.parse(stdout).methods).toMatchObject([{name: 'favor-pos', feature_dim: 31}])
  })

  it('gives the facts of projections under --json', async () => {
    const {stdout} = await run(Methods, 'methods', ['--projections', '--json'])
    const {projections} = JSON.parse(stdout)
    expect(projections).toContainEqual(
      expect.objectContaining({name: 'orth', rows: 'normal', unbiased_for: 'softmax-kernel'}),
    )
    expect(projections).toContainEqual(
      expect.objectContaining({name: 'orth-tall', released_by: 'noahs-ark'}),
    )
    const one = await run(Methods, 'methods', ['orth', '--projections', '--json'])
    expect(JSON.parse(one.stdout).projections).toEqual([expect.objectContaining({name: 'orth'})])
  })

  it('shows one projection in full, and tells the two lists apart', async () => {
    const methods = (...argv: string[]) => run(Methods, 'methods', argv)
    const {stdout} = await methods('orth', '--projections')
    expect(stdout).toMatch(/^orth: blocks of D orthogonal/)
    expect(stdout).toMatch(/^--orth-sign +yes$/m)
    expect(await methods('rfa', '--projections')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/^--projections: expected one of the projections .*"rfa"\n/),
    })
    expect((await methods('orth')).stderr).toBe(
      'methods: expected a method, got the projection orth\nCode: UNKNOWN_NAME   Try: rfa methods orth --projections\n',
    )
  })

  it('says what the columns of saved tables are, for a terminal and as Markdown', async () => {
    const {stdout} = await run(Methods, 'methods', ['bench', '--records'])
    expect(stdout).toMatch(/^bench: records.csv\n/)
    expect(stdout).toMatch(
      /^median_ns +ns, number +Geometric mean of the medians of the processes;/m,
    )
    const {stdout: markdown} = await run(Methods, 'methods', ['--records', '--markdown'])
    const headings = markdown.match(/^# .*/gm)!
    expect(headings).toContain('# bench: records\\_samples.csv, with --samples')
    const owners = headings.map(heading => /^# (.*):/.exec(heading)![1])
    expect([...new Set(owners)]).toEqual([...EXPERIMENT_NAMES, 'claims', 'compare', 'history'])
    expect(markdown).toContain('| seq\\_len | integer | L, number of queries used. |')
    const compared = JSON.parse(
      (await run(Methods, 'methods', ['compare', '--records', '--json'])).stdout,
    )
    const names = compared.tables[0].columns.map(({name}: {name: string}) => name)
    expect(names).toEqual(comparisonCsv({rows: [], left: []}).trim().split(','))
    expect(await run(Methods, 'methods', ['benhc', '--records'])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/did you mean bench\?\n$/),
    })
  })

  it('shows several methods one after the other, each once', async () => {
    const {stdout, result} = await run(Methods, 'methods', ['favor-pos', 'rfa', 'favor-pos'])
    expect(stdout.match(/^[\w-]+: /gm)).toEqual(['favor-pos: ', 'rfa: '])
    expect(result).toMatchObject({methods: [{name: 'favor-pos'}, {name: 'rfa'}]})
    const projections = await run(Methods, 'methods', ['orth', 'iid', '--projections'])
    expect(projections.result).toMatchObject({projections: [{name: 'orth'}, {name: 'iid'}]})
    const tables = await run(Methods, 'methods', ['bench', 'compare', '--records'])
    expect(tables.stdout).toMatch(/^bench: records.csv\n/)
    expect(tables.stdout).toMatch(/^compare: /m)
  })

  it('knows who was meant by a mistyped name', async () => {
    const {stderr, exitCode} = await run(Methods, 'methods', ['favor-pso'])
    expect(stderr).toMatch(/did you mean favor-pos\?\n +rfa methods lists all\n$/)
    expect(exitCode).toBe(2)
  })
})
