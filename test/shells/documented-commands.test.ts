/** What the documents say to type works when it is typed, in every shell. Needs the built program. */
import {writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {commandIds, loadCommand} from '../helpers/commands.js'
import {documentedCommands} from '../helpers/documented-commands.js'
import {temporaryFolder} from '../helpers/folders.js'
import {describeShells, inShell, type Shell} from '../helpers/shells.js'
import {
  affordable,
  writeInputs,
  writeModel,
  writeProgram,
  writePrograms,
} from '../helpers/typed-commands.js'
import {documentedEstimator} from './documented-estimator.js'

const README = documentedCommands('README.md')
const CONTRIBUTING = documentedCommands('CONTRIBUTING.md')

describe('the documents', () => {
  it('have commands to try', () => {
    expect(README.length).toBeGreaterThan(10)
    expect(README).toContain('npm ci && npx rfa error-sweep --quick')
  })
})

const documented = [...README, ...CONTRIBUTING]

describe('each command of the documents, typed into bash', () => {
  const folder = temporaryFolder()
  let env: NodeJS.ProcessEnv
  const type = (line: string) => inShell('bash', line, {cwd: folder, env})

  beforeAll(async () => {
    env = writeProgram(folder)
    await writeInputs(folder, ['qkv.npz', 'qkv.safetensors'])
    writeModel(folder)
    writeFileSync(join(folder, 'my-estimator.js'), documentedEstimator())
    for (const [seed, name] of ['RUN', 'RUN2'].entries()) {
      const {code, stderr} = await type(
        `rfa error-sweep --quick -m elu --seed ${seed} -o results/${name}`,
      )
      expect(code, stderr).toBe(0)
    }
  })

  it.each(documented)('%s', async command => {
    const few = /\brfa train\b/.test(command) ? `${command} --steps 2` : affordable(command)
    const {code, stdout, stderr} = await type(few)
    expect(code, stderr).toBe(0)
    // what goes into a file leaves nothing to read
    if (!command.includes(' > ')) expect(stdout + stderr).not.toBe('')
  })
})

describeShells('each command of the documents', shell => {
  const folder = temporaryFolder()
  let env: NodeJS.ProcessEnv
  const print = `printf '<%s>' "\${0##*/}" "$@"`

  beforeAll(() => {
    env = writePrograms(join(folder, 'bin'), {rfa: print, npx: print, npm: print, node: print})
  })

  it.each(documented)('is read as bash reads it: %s', async command => {
    const wordsIn = (name: Shell) => inShell(name, command, {cwd: folder, env})
    const read = await wordsIn(shell)
    expect(read).toMatchObject({code: 0, stderr: ''})
    expect(read).toEqual(await wordsIn('bash'))
  })
})

describeShells('each example of help', shell => {
  const folder = temporaryFolder()

  it.each(commandIds)('of %s is read word by word', async id => {
    const script = join(folder, 'print-argv.cjs')
    writeFileSync(script, 'console.log(JSON.stringify(process.argv.slice(2)))')
    const env = writePrograms(join(folder, id), {
      rfa: `exec "${process.execPath}" "${script}" "$@"`,
    })
    const {examples} = await loadCommand(id)
    const lines = (examples as string[]).map(text => text.replace('<%= config.bin %>', 'rfa'))
    expect(lines).not.toEqual([])
    for (const line of lines) {
      const {code, stdout, stderr} = await inShell(shell, line, {env})
      expect(code, stderr).toBe(0)
      expect(['rfa', ...JSON.parse(stdout)].join(' ')).toBe(line)
    }
  })
})
