/** What bin/run.js says on a Node that is too old for the rest. */
import {spawnSync} from 'node:child_process'
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import ts from 'typescript'
import {afterAll, beforeAll, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'

const program = join(packageRoot(), 'bin', 'run.js')
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rfa-node-'))
})
afterAll(() => rmSync(folder, {recursive: true}))

/** The program in a process that takes its Node for another version. */
function onNode(version: string) {
  const disguise = join(folder, `${version}.cjs`)
  const versions = `{...process.versions, node: '${version}'}`
  writeFileSync(disguise, `Object.defineProperty(process, 'versions', {value: ${versions}})`)
  const argv = ['--require', disguise, program, '--version']
  const {status, stdout, stderr} = spawnSync(process.execPath, argv, {encoding: 'utf8'})
  return {status, stdout, stderr}
}

it.each(['12.22.12', '16.20.2', '18.20.4', '20.18.3'])(
  'Node %s is reported in a sentence',
  version => {
    const stderr = `rfa needs Node.js 20.19 or later, this is ${version}: see https://nodejs.org\n`
    expect(onNode(version)).toEqual({status: 3, stdout: '', stderr})
  },
)

it.each(['20.19.0', '22.1.0', '100.0.0'])('Node %s is not', version => {
  expect(onNode(version)).toMatchObject({status: 0, stderr: ''})
})

it('the version is that of package.json', () => {
  const {engines} = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'))
  expect(engines.node).toBe('>=20.19')
})

it('an old Node can read the file: it imports nothing at first and uses nothing new', () => {
  const text = readFileSync(program, 'utf8')
  const source = ts.createSourceFile(program, text, ts.ScriptTarget.Latest)
  const kinds = new Set<ts.SyntaxKind>()
  const visit = (node: ts.Node) => {
    kinds.add(node.kind)
    ts.forEachChild(node, visit)
  }
  visit(source)
  expect(kinds.size).toBeGreaterThan(5)
  const {ImportDeclaration, AwaitExpression, QuestionQuestionToken, QuestionDotToken} =
    ts.SyntaxKind
  for (const kind of [
    ImportDeclaration,
    AwaitExpression,
    QuestionQuestionToken,
    QuestionDotToken,
  ]) {
    expect(kinds).not.toContain(kind)
  }
})
