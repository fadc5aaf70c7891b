/** Help of two lengths. */
import {describe, expect, it, vi} from 'vitest'
import {BRIEF_FLAGS} from '../../src/cli/help/brief-flags.js'
import {rootHelpScreen} from '../../src/cli/help/root-help.js'
import {COMMAND_GROUPS} from '../../src/cli/program/command-groups.js'
import {packageVersion} from '../../src/package.js'
import {commandIds, loadCommand} from '../helpers/commands.js'
import {runMain} from './run-command.js'

/** What is printed, without the line that ends it. */
async function linesOf(...argv: string[]): Promise<string[]> {
  const {stdout, exitCode} = await runMain(...argv)
  expect(exitCode).toBe(0)
  return stdout.trimEnd().split('\n')
}

describe('the list of commands', () => {
  it('names each command once, with its question', async () => {
    const rows = COMMAND_GROUPS.flatMap(({commands}) => commands)
    expect(rows.map(([id]) => id).sort()).toEqual(commandIds)
    const lines = await linesOf('-h')
    for (const [id, question] of rows) {
      expect(lines.filter(line => line.endsWith(`  ${id.padEnd(11)}  ${question}`))).toHaveLength(1)
    }
  })

  it.each([[], ['-h'], ['--help'], ['help']])(
    'is printed before anything loads: %s',
    async (...argv) => {
      const description = 'Measures what random-feature attention gets wrong and what it costs'
      const screen = (most: number) =>
        rootHelpScreen(argv, most, {version: packageVersion(), description})
      expect(screen(78)?.split('\n')).toEqual(await linesOf(...argv))
      expect(screen(77)).toBeUndefined() // lines are to be broken
    },
  )

  it.each([['bench'], [''], ['bench', '-h'], ['--help', '--json'], ['-h', 'bench']])(
    'is not printed for other command lines: %s',
    (...argv) => expect(rootHelpScreen(argv, 78, {version: packageVersion()})).toBeUndefined(),
  )

  it('is one screen', async () => {
    const lines = await linesOf()
    expect(lines.length).toBeLessThan(24)
    expect(lines.filter(line => line.length > 80)).toEqual([])
  })
})

describe.each(commandIds)('%s -h', id => {
  it('is one screen that ends with where all flags are', async () => {
    const lines = await linesOf(id, '-h')
    expect(lines.length).toBeLessThan(24)
    expect(lines.filter(line => line.length > 80)).toEqual([])
    expect(lines.at(-1)).toMatch(new RegExp(`^all \\d+ flags, .*: rfa ${id} --help$`))
  })

  it('has at most ten flags, those of the command, and one line of each', async () => {
    const {flags, baseFlags} = await loadCommand(id)
    const shown = Object.keys(BRIEF_FLAGS[id] ?? {})
    expect(shown.filter(name => !Object.hasOwn({...flags, ...baseFlags}, name))).toEqual([])
    expect(shown.length).toBeGreaterThan(0)
    expect(shown.length).toBeLessThanOrEqual(10)
    const lines = await linesOf(id, '-h')
    const rows = lines.slice(lines.indexOf('FLAGS') + 1, -2)
    expect(rows.map(row => /--(?:\[no-\])?([\w-]+)/.exec(row)?.[1])).toEqual(shown)
  })

  it('has the first examples, which a shell reads as they were written', async () => {
    const {examples} = await loadCommand(id)
    const printed = (await linesOf(id, '-h')).join('\n').replaceAll(/ \\\n +/g, ' ')
    const shown = printed.split('\n').filter(line => line.startsWith('  $ '))
    const written = examples.map(example => String(example).replace('<%= config.bin %>', 'rfa'))
    expect(shown.length).toBeGreaterThan(0)
    expect(shown).toEqual(written.slice(0, shown.length).map(example => `  $ ${example}`))
  })
})

it('all flags of a group begin in one column, those with a letter and those without', async () => {
  for (const id of ['advise', 'bench', 'claims']) {
    const groups = (await linesOf(id, '--help')).join('\n').split('\n\n')
    const lines = groups.find(group => /^(RUN )?FLAGS$/m.test(group))!.split('\n')
    const before = lines.flatMap(line => /^ {2}(-\w, | {4})?(?=--)/.exec(line)?.[0] ?? [])
    expect(new Set(before.map(({length}) => length)), id).toEqual(new Set([6]))
  }
})

it('help names the program as npx was asked for it', async () => {
  vi.stubEnv('npm_command', 'exec')
  vi.stubEnv('npm_lifecycle_event', 'npx')
  expect((await linesOf()).at(-1)).toMatch(/flags: npx rfa COMMAND -h \(all: --help\)$/)
  const lines = await linesOf('methods', '-h')
  expect(lines.join('\n')).toContain('  $ npx rfa methods favor-pos')
  expect(lines.at(-1)).toMatch(/: npx rfa methods --help$/)
})
