/** What the documents say to type works when it is typed, in every shell. Needs the built program. */
import {chmodSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs'
import {delimiter, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {beforeAll, describe, expect, it} from 'vitest'
import {writeArrays} from '../../src/inputs/files/index.js'
import {commandIds, loadCommand} from '../helpers/commands.js'
import {documentedCommands} from '../helpers/documented-commands.js'
import {temporaryFolder} from '../helpers/folders.js'
import {describeShells, inShell, type Shell} from '../helpers/shells.js'

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
const README = documentedCommands('README.md')
const CONTRIBUTING = documentedCommands('CONTRIBUTING.md')

/** The estimator that docs/your-estimator.md begins with. */
const [, OWN = ''] = /^```js\n([\s\S]*?)^```$/m.exec(
  readFileSync(new URL('../../docs/your-estimator.md', import.meta.url), 'utf8'),
)!

/** A grid of seconds runs; a longer one only says what it would run, and checks are those of declared facts. */
function affordable(command: string): string {
  if (/\brfa check\b/.test(command)) return `${command} --only facts`
  if (/\brfa advise\b/.test(command)) {
    const few = ['--quick', '--methods elu', '--seq-len 64', '--tolerance 1']
    return [command.replace(/ --(seq-len|tolerance) \S+/g, ''), ...few].join(' ')
  }
  if (/\brfa claims\b/.test(command)) return `${command.replace(' --quick', '')} --explain`
  const runs = /\brfa (error-sweep|bench|variance)\b/.test(command)
  return runs && !/--(quick|dry-run)\b/.test(command) ? `${command} --dry-run` : command
}

/** Puts programs into a folder that shells look into first. */
function writePrograms(folder: string, programs: Record<string, string>): NodeJS.ProcessEnv {
  mkdirSync(folder)
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(folder, name), 0o755)
  }
  return {...process.env, PATH: [folder, process.env.PATH].join(delimiter)}
}

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
    const rfa = `exec "${process.execPath}" "${program}" "$@"`
    env = writePrograms(join(folder, 'bin'), {rfa, npx: `shift\n${rfa}`, npm: ':'})
    const array = {shape: [1, 2, 31, 16], dtype: 'float32' as const, data: noise(2 * 31 * 16)}
    for (const file of ['qkv.npz', 'qkv.safetensors']) {
      await writeArrays(join(folder, file), {q: array, k: array, v: array})
    }
    writeFileSync(join(folder, 'my-estimator.js'), OWN)
    for (const [seed, name] of ['RUN', 'RUN2'].entries()) {
      const {code, stderr} = await type(
        `rfa error-sweep --quick -m elu --seed ${seed} -o results/${name}`,
      )
      expect(code, stderr).toBe(0)
    }
  })

  it.each(documented)('%s', async command => {
    const {code, stdout, stderr} = await type(affordable(command))
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

/** Numbers without a pattern. */
function noise(length: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({length}, (_, index) => Math.sin(index * 12.9898) / 2)
}
