/** docs/your-estimator.md, followed step by step: its files are written, its commands typed, its programs run. */
import {spawnSync} from 'node:child_process'
import {mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync} from 'node:fs'
import {createRequire} from 'node:module'
import {join} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {FULL} from '../helpers/effort.js'
import {temporaryFolder} from '../helpers/folders.js'

const root = packageRoot()
const TEXT = readFileSync(join(root, 'docs', 'your-estimator.md'), 'utf8')
const BLOCKS = [...TEXT.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, kind, text]) => ({
  kind: kind!,
  text: text!,
}))
const folder = realpathSync(temporaryFolder())

interface Ending {
  status: number | null
  said: string
}

function node(...argv: string[]): Ending {
  const env = {...process.env, COLUMNS: '200'}
  const {status, stdout, stderr} = spawnSync(process.execPath, argv, {
    cwd: folder,
    encoding: 'utf8',
    env,
  })
  return {status, said: stdout + stderr}
}

/** What a quick run types: each of the others takes some ten seconds. */
const QUICK = ['methods', 'error-sweep']

/** What came of each command, by its first word; of one that comes again by all of them. */
const endings = new Map<string, Ending>()

/** Writes a file, changes one, or types commands. */
const STEPS: Readonly<Record<string, (text: string) => void>> = {
  js: text => writeFileSync(join(folder, /^\/\/ (\S+)/.exec(text)![1]!), text),
  diff(text) {
    const path = join(folder, 'relu-power.js')
    const [context = '', added = ''] = text.split('\n').map(line => line.slice(1))
    const before = readFileSync(path, 'utf8')
    expect(before).toContain(`${context}\n`)
    writeFileSync(path, before.replace(`${context}\n`, `${context}\n${added}\n`))
  },
  sh(text) {
    for (const line of text.trim().split('\n')) {
      if (line.includes('.py')) continue // test/python/plugins.test.ts
      const [command = '', file] = line.split(' > ')
      const [npx, rfa, ...argv] = command.split(' ')
      expect([npx, rfa]).toEqual(['npx', 'rfa'])
      // a quick run types each once
      const name = endings.has(argv[0]!) ? command : argv[0]!
      if (!FULL && !QUICK.includes(name)) continue
      const ending = node(join(root, 'bin', 'run.js'), ...argv)
      endings.set(name, ending)
      if (file) writeFileSync(join(folder, file), ending.said)
    }
  },
  ts: () => {},
  python: () => {},
  text: () => {},
}

beforeAll(() => {
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  for (const {kind, text} of BLOCKS) STEPS[kind]!(text)
})

const said = (command: string) => {
  const {status, said} = endings.get(command)!
  expect(status, said).toBe(0)
  return said
}

describe('docs/your-estimator.md', () => {
  it('has a feature map that is listed with its options', () => {
    const text = said('methods')
    expect(text).toMatch(/^formula +phi_i\(x\) = \(2 \/ M\)\^\(1\/2\) relu\(w_i \. x\)\^n$/m)
    expect(text).toMatch(/^power +2 +integer +n, the order of the kernel$/m)
  })

  it('sweeps it', () => {
    expect(said('error-sweep')).toMatch(/^relu-power \(power=3\) .*\d+ %/m)
  })

  it.runIf(FULL)('finds its estimates unbiased, with the variance that its kernel states', () => {
    const text = said('variance')
    expect(text).toMatch(/No bias was found/)
    expect(text).toMatch(/^relu-power .*yes, /m)
  })

  it.runIf(FULL)('checks it', () => {
    const text = said('check')
    expect(text).toMatch(/^relu-power passes \d+ checks/m)
    expect(text).not.toContain('failed')
  })

  it.runIf(FULL)('runs its plan, and continues its run', () => {
    expect(said('run')).toContain('saved in results/own')
    const resume = [...endings.keys()].find(command => command.includes('--resume'))!
    expect(said(resume)).toContain('saved in results/own')
  })

  it.runIf(FULL)('times it', () => {
    expect(said('bench')).toMatch(/^relu-power .* \d[\d.]* (us|ms)/m)
  })

  it('computes with it in a program that has the package installed', () => {
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(root, join(folder, 'node_modules', 'rfa'), 'junction')
    const {status, said} = node('program.js')
    expect(status, said).toBe(0)
    expect(said).toMatch(/\[ 1, 2, 128, 16 \]/)
    rmSync(join(folder, 'node_modules'), {recursive: true})
  })

  it('is in the package', () => {
    const {files} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(files).toContain('docs/*.md')
  })

  // the compiler takes some ten seconds
  it.runIf(FULL)('compiles, and knows the options of both ways to name it', () => {
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(root, join(folder, 'node_modules', 'rfa'), 'junction')
    const text = BLOCKS.find(({kind}) => kind === 'ts')!.text
    const wrong = [
      "method: 'relu-entries', powr: 2",
      "method, power: 'two'",
      "method: 'relu-entry'",
    ]
    const refused = wrong.map(given => `// @ts-expect-error\nattention(x, x, x, {${given}})\n`)
    writeFileSync(join(folder, 'typed.ts'), text)
    writeFileSync(join(folder, 'refused.ts'), `${text}\n${refused.join('')}`)
    const compilerOptions = {strict: true, target: 'es2022', module: 'nodenext', skipLibCheck: true}
    const files = ['typed.ts', 'refused.ts']
    const config = {compilerOptions: {...compilerOptions, types: []}, files}
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
    expect(node(tsc, '-p', '.')).toEqual({status: 0, said: ''})
    const {status, said} = node('typed.js')
    expect(status, said).toBe(0)
    expect(said.match(/\[ 1, 2, 128, 16 \]/g)).toHaveLength(2)
  })
})
