/** What documents say to type, made cheap, and a folder in which it can be typed. */
import {chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync} from 'node:fs'
import {delimiter, dirname, join} from 'node:path'
import {writeArrays} from '../../src/inputs/files/index.js'
import {packageRoot} from '../../src/package.js'

const root = packageRoot()

/** A grid of seconds runs; a longer one only says what it would run, and checks are those of declared facts. */
export function affordable(command: string): string {
  if (/\brfa check\b/.test(command)) return `${command} --only facts`
  // inputs of the page are there already
  if (/\brfa export\b/.test(command)) return `${command} --max-texts 2 --force`
  if (/\brfa advise\b/.test(command)) {
    const few = ['--quick', '--methods elu', '--seq-len 64']
    const ofModel = / --model\b/.test(command)
    few.push(ofModel ? '--texts texts.txt' : '--tolerance 1')
    return [command.replace(/ --(seq-len|tolerance|methods|texts) \S+/g, ''), ...few].join(' ')
  }
  if (/\brfa claims\b/.test(command)) {
    return `${command.replace(/ --(quick|explain|output \S+)/g, '')} --explain`
  }
  const runs = /\brfa (error-sweep|bench|variance|swap)\b/.test(command)
  return runs && !/--(quick|dry-run)\b/.test(command) ? `${command} --dry-run` : command
}

/** Puts programs into a folder that shells look into first. */
export function writePrograms(folder: string, programs: Record<string, string>): NodeJS.ProcessEnv {
  mkdirSync(folder)
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(folder, name), 0o755)
  }
  return {...process.env, PATH: [folder, process.env.PATH].join(delimiter)}
}

/** An environment in which `rfa`, and `npx rfa`, is the built program, and npm does nothing. */
export function writeProgram(folder: string): NodeJS.ProcessEnv {
  const rfa = `exec "${process.execPath}" "${join(root, 'bin', 'run.js')}" "$@"`
  return writePrograms(join(folder, 'bin'), {rfa, npx: `shift\n${rfa}`, npm: ':'})
}

/** Arrays of two heads, 31 tokens and 16 entries, `[B, H, L, D]`, under names that documents use. */
export async function writeInputs(folder: string, files: readonly string[]): Promise<void> {
  const data = noise(2 * 31 * 16)
  const array = {shape: [1, 2, 31, 16], dtype: 'float32' as const, data}
  const one = {q: array, k: array, v: array}
  const layers = Object.fromEntries(
    [0, 1].flatMap(layer => Object.keys(one).map(name => [`layers.${layer}.${name}`, array])),
  )
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), {recursive: true})
    await writeArrays(join(folder, file), /layers\./.test(file) ? layers : one)
  }
}

/** A model under the names that documents use, and texts for it. */
export function writeModel(folder: string): void {
  const packaged = join(root, 'fixtures', 'charlm')
  for (const name of ['all-MiniLM-L6-v2', 'pythia-70m', 'fixtures/charlm']) {
    cpSync(packaged, join(folder, name), {recursive: true})
  }
  const texts = readFileSync(join(packaged, 'texts.txt'), 'utf8').split('\n')
  writeFileSync(join(folder, 'texts.txt'), texts.slice(0, 12).join('\n'))
}

/** Makes the package one that is installed in a folder. */
export function linkPackage(folder: string): void {
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'rfa'), 'dir')
}

/** Numbers without a pattern. */
function noise(length: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({length}, (_, index) => Math.sin(index * 12.9898) / 2)
}
