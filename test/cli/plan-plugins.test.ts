/** Plans and runs of others that name plug-ins: a file alone has nothing imported. */
import {createHash} from 'node:crypto'
import {existsSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {afterEach, beforeAll, describe, expect, it, vi} from 'vitest'
import ErrorSweep from '../../commands/error-sweep.js'
import Merge from '../../commands/merge.js'
import Report from '../../commands/report.js'
import Run from '../../commands/run.js'
import Slurm from '../../commands/slurm.js'
import {temporaryFolder} from '../helpers/folders.js'
import {method, sweep} from '../helpers/plans.js'
import {writeFiles} from '../helpers/plugins.js'
import {writeRun} from '../helpers/run-folder.js'
import {runCommand} from './run-command.js'

const folder = temporaryFolder()
const at = (...path: string[]) => join(folder, ...path)
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** What the modules do when they are imported. */
const mark = (file: string) =>
  `import {writeFileSync} from 'node:fs'\nwriteFileSync(${JSON.stringify(at(file))}, '')\n`
const MARKS = ['imported', 'part-imported']
const PART = mark('part-imported')
const MODULE = `import './part.mjs'\n${mark('imported')}export default 1\n`
const record = (path: string, module = MODULE, part = PART) => ({
  path,
  sha256: sha256(module),
  imports: [{path: 'part.mjs', sha256: sha256(part)}],
  methods: ['mine'],
})
const planOf = (plugin = record(at('mine.mjs'))) =>
  sweep({methods: [method('mine'), method('elu')], plugins: [plugin]})
const shards = ['one', 'two'].map(name => at(name))

beforeAll(async () => {
  writeFiles(folder, {'mine.mjs': MODULE, 'part.mjs': PART})
  writeFileSync(at('plan.json'), JSON.stringify(planOf()))
  await writeRun(at('run'), planOf(), [])
  for (const [index, directory] of shards.entries()) {
    await writeRun(directory, planOf(), [], {shard: {index: index + 1, count: 2, cells: 4}})
  }
})
afterEach(() => {
  vi.unstubAllEnvs()
  for (const name of MARKS) expect(existsSync(at(name)), name).toBe(false)
})

const COMMANDS: [string, unknown, string[]][] = [
  ['run', Run, [at('plan.json')]],
  ['run', Run, [at('plan.json'), '--dry-run']],
  ['run', Run, [at('plan.json'), '--shard', '1/2', '--output', at('shard')]],
  ['slurm', Slurm, [at('plan.json'), '--shards', '2', '--output', at('slurm')]],
  ['error-sweep', ErrorSweep, ['--resume', '--output', at('run')]],
  ['error-sweep', ErrorSweep, ['--resume', '-o', at('run'), '--dry-run']],
  ['merge', Merge, [...shards, '--output', at('merged')]],
]
const all = COMMANDS.map(([id, command, argv]) => {
  const words = argv.map(word => word.replace(`${folder}/`, ''))
  return [[id, ...words].join(' '), id, command, argv] as const
})

describe('a plug-in that a plan or a run alone names', () => {
  it.each(all)('is not imported by %s', async (_, id, command, argv) => {
    const {exitCode, stderr} = await runCommand(command, id, argv)
    expect(exitCode).toBe(2)
    expect(stderr).toContain('because a plan with plug-ins is a program')
    expect(stderr).toContain(`got ${at('mine.mjs')}, which the command does not name`)
    expect(stderr).toContain(`add --plugin ${at('mine.mjs')}`)
  })

  it('is not imported by rfa report', async () => {
    const {stdout} = await runCommand(Report, 'report', [at('run'), '--output', '-'])
    expect(stdout).toContain('not known without its plug-ins')
  })

  it('is not looked for where the plan says: it may be anywhere', async () => {
    for (const path of [
      '/dev/zero',
      'file:///etc/passwd',
      'data:text/javascript,1',
      '\\\\host\\x',
    ]) {
      writeFileSync(at('odd.json'), JSON.stringify(planOf(record(path))))
      const {exitCode, stderr} = await runCommand(Run, 'run', [at('odd.json')])
      expect([exitCode, stderr]).toEqual([
        2,
        expect.stringContaining('which the command does not name'),
      ])
    }
  })
})

describe('a plug-in that was named, but is another one', () => {
  const changed = (now: Record<string, string>) => {
    writeFiles(folder, now)
    return () => writeFiles(folder, {'mine.mjs': MODULE, 'part.mjs': PART})
  }

  it.each(all)('is not imported by %s', async (_, id, command, argv) => {
    const restore = changed({'part.mjs': `${PART}// changed\n`})
    const {exitCode, stderr} = await runCommand(command, id, [...argv, '--plugin', at('mine.mjs')])
    restore()
    expect(exitCode).toBe(2)
    expect(stderr).toMatch(
      /mine\.mjs \(SHA-256 \w{12}…\), got one of SHA-256 \w{12}…, as part\.mjs has changed/,
    )
  })

  it.each([
    ['has another module', {'mine.mjs': `${MODULE}// changed\n`}, 'mine.mjs'],
    ['lacks what it imports', {'part.mjs': ''}, 'part.mjs'],
  ])('is refused where it %s, by the environment too', async (_, now, file) => {
    const restore = changed(now)
    vi.stubEnv('RFA_PLUGINS', at('mine.mjs'))
    const {exitCode, stderr} = await runCommand(Run, 'run', [at('plan.json')])
    restore()
    expect(exitCode).toBe(2)
    expect(stderr).toContain(`${file} has changed`)
  })

  it('is refused at another place, as what the plan has no use for', async () => {
    writeFiles(folder, {'elsewhere/mine.mjs': `${MODULE}// changed\n`, 'elsewhere/part.mjs': PART})
    const argv = [at('plan.json'), '--plugin', at('elsewhere', 'mine.mjs')]
    const {exitCode, stderr} = await runCommand(Run, 'run', argv)
    expect(exitCode).toBe(2)
    expect(stderr).toMatch(
      /expected the plug-ins that this plan was made with, .* got .*elsewhere\/mine\.mjs \(SHA-256 .*\) besides/,
    )
  })
})
