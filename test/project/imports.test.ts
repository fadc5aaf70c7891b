import {mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {dirname, join} from 'node:path'
import {afterEach, beforeAll, beforeEach, describe, expect, it} from 'vitest'

const CHECK = join(import.meta.dirname, '../../scripts/check-imports.js')

let importProblems: (root: string, exceptions?: string[]) => string[]
beforeAll(async () => {
  importProblems = (await import(CHECK)).importProblems
})

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rfa-imports-'))
})
afterEach(() => rmSync(root, {recursive: true, force: true}))

/** What the check says of a tree of files, given by their texts. */
function check(files: Record<string, string>, exceptions?: string[]): string[] {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), {recursive: true})
    writeFileSync(join(root, path), text)
  }
  return importProblems(root, exceptions)
}

describe('directions of imports', () => {
  it('may point down', () => {
    const problems = check({
      'src/errors.ts': '',
      'src/stats/a.ts': "import '../errors.js'",
      'src/attention/index.ts': "export {} from '../errors.js'",
      'src/experiments/b.ts':
        "import {} from '../stats/a.js'\nawait import('../attention/index.js')",
    })
    expect(problems).toEqual([])
  })

  it.each([
    ['a value', "import {b} from '../experiments/b.js'"],
    ['a type', "import type {B} from '../experiments/b.js'"],
    ['a type in place', "export type A = import('../experiments/b.js').B"],
    ['a file loaded later', "export const b = () => import('../experiments/b.js')"],
    ['a re-export', "export * from '../experiments/b.js'"],
  ])('may not point up for %s', (_, text) => {
    const problems = check({'src/stats/a.ts': text, 'src/experiments/b.ts': ''})
    expect(problems).toEqual([
      'src/stats/a.ts:1 imports src/experiments/b.ts: src/experiments/ is on a higher floor',
    ])
  })

  it('may not point to a neighbour', () => {
    const problems = check({
      'src/attention/kernels/a.ts': "import '../projections/b.js'",
      'src/attention/projections/b.ts': '',
    })
    expect(problems).toEqual([expect.stringMatching(/kernels\/a.ts:1 .*is on the same floor/)])
  })

  it('may not go round in a circle, be it of types', () => {
    const problems = check({
      'src/stats/a.ts': "import {b} from './b.js'",
      'src/stats/b.ts': "\nimport {c} from './c.js'",
      'src/stats/c.ts': "import type {A} from './a.js'",
    })
    expect(problems).toEqual([
      'src/stats/a.ts:1 imports src/stats/b.ts: a circle, ' +
        'src/stats/a.ts -> src/stats/b.ts -> src/stats/c.ts -> src/stats/a.ts',
    ])
  })

  it('may not go round by what is loaded later, either', () => {
    const problems = check({
      'src/stats/a.ts': "export const b = () => import('./b.js')",
      'src/stats/b.ts': "import {b} from './a.js'",
    })
    expect(problems).toEqual([
      'src/stats/a.ts:1 imports src/stats/b.ts: a circle, src/stats/a.ts -> src/stats/b.ts -> src/stats/a.ts',
    ])
  })

  it('go down within a folder that has floors of its own', () => {
    const problems = check({
      'src/experiments/bench/report/lines/a.ts': "import '../../measure/b.js'",
      'src/experiments/bench/measure/b.ts': "import '../grid.js'",
      'src/experiments/bench/grid.ts': '',
      'src/experiments/bench/odd.ts': '',
    })
    expect(problems).toEqual([
      'src/experiments/bench/odd.ts stands on no floor',
      expect.stringMatching(/measure\/b.ts:1 imports .*grid.ts: .*grid.ts is on a higher floor$/),
    ])
  })

  it.each(['swap', 'train', 'tune', 'inputs', 'variance', 'error-sweep'])(
    'go down within experiment %s',
    name => {
      const folder = `src/experiments/${name}`
      const problems = check({
        [`${folder}/schema.ts`]: "import './report/report.js'",
        [`${folder}/report/report.ts`]: '',
        [`${folder}/odd.ts`]: '',
      })
      expect(problems).toEqual([
        `${folder}/odd.ts stands on no floor`,
        `${folder}/schema.ts:1 imports ${folder}/report/report.ts: ${folder}/report/ is on a higher floor`,
      ])
    },
  )

  it('lead from experiments to answers, by their door, and not back', () => {
    const problems = check({
      'src/experiments/a.ts': "import '../answers/index.js'\nimport '../answers/draws.js'",
      'src/answers/index.ts': '',
      'src/answers/draws.ts': "import '../experiments/a.js'",
    })
    expect(problems).toEqual([
      'src/answers/draws.ts:1 imports src/experiments/a.ts: src/experiments/ is on a higher floor',
      'src/experiments/a.ts:2 imports src/answers/draws.ts: its doors are src/answers/index.ts',
      expect.stringContaining('a circle'),
    ])
  })

  it('of tests that judge several numbers together are in src/answers', () => {
    const src = join(import.meta.dirname, '../../src')
    const files = readdirSync(src, {recursive: true, encoding: 'utf8'})
    const places = files
      .filter(file => file.endsWith('.ts') && !/^(answers|stats)\//.test(file))
      .filter(file => /\b(holm|signFlips)\b/.test(readFileSync(join(src, file), 'utf8')))
    expect(places).toEqual([])
  })

  it('go down within the claims, which do not know each other', () => {
    const problems = check({
      'src/claims/runs.ts': "import './claims/h24.js'",
      'src/claims/claims/h24.ts': "import './h25.js'",
      'src/claims/claims/h25.ts': '',
      'src/claims/claims/hx.ts': '',
    })
    expect(problems).toEqual([
      'src/claims/claims/hx.ts stands on no floor',
      'src/claims/runs.ts:1 imports src/claims/claims/h24.ts: src/claims/claims/ is on a higher floor',
      'src/claims/claims/h24.ts:1 imports src/claims/claims/h25.ts: src/claims/claims/h25.ts is on the same floor',
    ])
  })

  it('have floors in every experiment', () => {
    expect(check({'src/experiments/new/a.ts': '', 'src/experiments/new/report/b.ts': ''})).toEqual([
      'src/experiments/new/ has no floors in INNER_FLOORS',
    ])
  })

  it('may not pass the doors of attention', () => {
    const problems = check({
      'src/attention/kernels/a.ts': '',
      'src/attention/internal.ts': '',
      'src/backends/b.ts': "import '../attention/kernels/a.js'",
      'src/cli/plans/c.ts': "import '../../attention/internal.js'",
    })
    expect(problems).toEqual([
      expect.stringMatching(/^src\/backends\/b.ts:1 imports .*: its doors are .*fused-kernels.ts$/),
      expect.stringMatching(
        /^src\/cli\/plans\/c.ts:1 imports .*: its doors are \S+index.ts, \S+names.ts$/,
      ),
    ])
  })

  it('may not load tensors before they are needed', () => {
    const problems = check({
      'src/tf.ts': "import type * as core from '@tensorflow/tfjs-core'",
      'src/attention/types.ts': "import type {Tensor} from '@tensorflow/tfjs-core'",
      'src/attention/forms/a.ts': "import * as tf from '@tensorflow/tfjs-core'",
      'src/backends/b.ts': "export const b = () => import('@tensorflow/tfjs-backend-cpu')",
    })
    const late = 'src/tf.ts loads it when it is needed'
    expect(problems).toEqual([
      `src/attention/forms/a.ts:1 imports @tensorflow/tfjs-core: ${late}`,
      `src/backends/b.ts:1 imports @tensorflow/tfjs-backend-cpu: ${late}`,
    ])
  })

  it('belong to a floor', () => {
    expect(check({'src/new/a.ts': ''})).toEqual(['src/new/a.ts stands on no floor'])
  })

  it('may be excepted for as long as they are wrong', () => {
    const exception = 'src/stats/a.ts -> src/cli/plans/b.ts'
    const wrong = {'src/stats/a.ts': "import '../cli/plans/b.js'", 'src/cli/plans/b.ts': ''}
    expect(check(wrong, [exception])).toEqual([])
    expect(check({...wrong, 'src/stats/a.ts': ''}, [exception])).toEqual([
      `the exception '${exception}' no longer occurs: remove it`,
    ])
  })
})
