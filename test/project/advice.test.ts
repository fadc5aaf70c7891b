/** docs/advice.md: its examples are those that the layers give. */
import {spawnSync} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {NOT_TRIED} from '../../src/advice/not-tried.js'
import {ADVICE} from '../../src/advice/plans.js'
import {errorText} from '../../src/advice/words.js'
import type {AdviceDocument} from '../../src/cli/program/json-documents.js'
import {packageRoot} from '../../src/package.js'
import {documentedCommands} from '../helpers/documented-commands.js'
import {FULL} from '../helpers/effort.js'
import {temporaryFolder} from '../helpers/folders.js'

const root = packageRoot()
const COMMANDS = documentedCommands('docs/advice.md').map(line => line.split(' ').slice(2))
const EXAMPLES = COMMANDS.filter(
  words => words[0] === 'advise' && !words.some(word => /^--(input|output|model)$/.test(word)),
)

/** What the command says, with candidates of one M: times are not looked at, errors are the same on every machine. */
function adviceOf(words: readonly string[]): AdviceDocument['layers'][number] {
  const cheap = ['--methods', 'favor-hyp,elu', '--num-features', '64', '--threads', '1', '--json']
  const program = join(root, 'bin/run.js')
  const argv = [program, ...words, ...cheap, '--output', join(temporaryFolder(), 'advice')]
  const {stdout, stderr} = spawnSync(process.execPath, argv, {cwd: root, encoding: 'utf8'})
  expect(stdout, stderr).toMatch(/^\{/)
  return (JSON.parse(stdout) as AdviceDocument).layers[0]!
}

describe('docs/advice.md', () => {
  it('has three examples on layers of the package', () => {
    expect(EXAMPLES.map(words => words[0])).toEqual(['advise', 'advise', 'advise'])
  })

  it('names every candidate, and every other method with its reason', () => {
    const text = readFileSync(join(root, 'docs', 'advice.md'), 'utf8')
    const [candidates = ''] = /^- \*\*Candidates\*\*[\s\S]*?orthogonal rows/m.exec(text) ?? []
    for (const name of ADVICE.standard.methods) expect(candidates).toContain(`\`${name}\``)
    const rows = text.split('\n').filter(line => line.startsWith('| `'))
    const named = rows.flatMap(row => row.split('|')[1]!.match(/[\w-]+/g) ?? [])
    expect(named.toSorted()).toEqual(Object.keys(NOT_TRIED).toSorted())
  })

  it.runIf(FULL)('shows a layer of which exact attention is to be kept', () => {
    const {candidate, obstacle, candidates} = adviceOf(EXAMPLES[0]!)
    expect({candidate, obstacle}).toEqual({candidate: null, obstacle: 'error'})
    const elu = candidates.find(({label}) => label === 'elu')!
    expect(elu.error!.toFixed(3)).toBe('0.908')
  })

  it.runIf(FULL)('shows one that is accurate in every head where logits are small', () => {
    const {candidates} = adviceOf(EXAMPLES[1]!)
    const shown = candidates.find(({label}) => label === 'favor-hyp orth M=64')!
    expect(shown.error_high).toBeLessThan(0.05)
    for (const head of shown.heads) expect(head.error_high).toBeLessThan(0.05)
    const text = readFileSync(join(root, 'docs', 'advice.md'), 'utf8')
    const {error, error_low, error_high} = shown
    const estimate = {value: error!, low: error_low!, high: error_high!}
    expect(text).toContain(errorText('rel_l2', estimate))
  })

  it.runIf(FULL)('shows that the same layer is not as it is', ({skip}) => {
    const {obstacle, changes, candidates} = adviceOf(EXAMPLES[2]!)
    expect(obstacle).toBe('error')
    const untold = candidates.some(({gain, gain_high}) => gain !== null && gain_high === null)
    if (untold) skip('the machine is too busy to know what is faster')
    expect(changes.find(({kind}) => kind === 'norms')).toMatchObject({value: 0.25})
  })
})
