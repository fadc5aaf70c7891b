/** Constructions that a reader has to take apart twice, kept out of what people read. */
import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import ts from 'typescript'
import {describe, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'

const root = packageRoot()

/** What to avoid, and what to write. */
const CONSTRUCTIONS: [RegExp, string][] = [
  [/\b(told|tells)\b/, 'says, shows, knows; distinguishable; inconclusive'],
  [/(?<!\b(times|twice) )\b(as|so) many\b/, 'the same number of; a number'],
  [/\b(of|for) which\b|\bwhose\b/, 'a second sentence; "with"'],
  [/\b(is|are|was|were) (that|those) of\b/, 'has the same; repeat the noun'],
  [/(?<!\bthere )\b(is|are|was|were) no\b(?! (longer|more than|less than|better|worse))/, 'is not'],
  [/\bnone where\b/, 'say what there is instead'],
  [/\bbeside\b/, 'next to; with; besides'],
  [/\b(nobody|anybody)\b/, 'no one; name who'],
  [/\bof (its|their) own\b|\ban own\b/, 'its; a separate'],
  [/\bsees all\b/, 'is bidirectional'],
  [/\berrs\b/, 'has a lower (or higher) error'],
  [/\b(go|goes|going|went) on with\b/, 'continue'],
]

/** Whether a text may have one. */
const ANY = new RegExp(CONSTRUCTIONS.map(([pattern]) => pattern.source).join('|'), 'i')

/**
 * How many of them stand in an area today. A number may only fall: lower it when you mend a sentence, and write new
 * ones without. `texts` are strings with a space in them (messages, tables, help and descriptions of flags), `comments`
 * the doc comments of exports.
 */
const TODAY: Record<string, Partial<Record<Kind, number>>> = {
  documents: {texts: 20},
  'src/cli': {texts: 13, comments: 15},
  'src/experiments/bench': {texts: 1, comments: 1},
  'src/model': {texts: 1},
}

type Kind = 'texts' | 'comments'

interface Hit {
  area: string
  kind: Kind
  text: string
}

/** The folder of a source, two deep and in experiments three; all documents are one area. */
function areaOf(file: string): string {
  if (file.endsWith('.md')) return 'documents'
  const [top, ...inner] = file.split('/').slice(0, -1)
  if (top !== 'src') return top!
  return [top, ...inner.slice(0, inner[0] === 'experiments' ? 2 : 1)].join('/')
}

function hitsIn(file: string, kind: Kind, prose: string): Hit[] {
  const text = prose.replace(/\s+/g, ' ')
  if (!ANY.test(text)) return []
  return CONSTRUCTIONS.flatMap(([pattern, better]) =>
    [...text.matchAll(new RegExp(pattern, 'gi'))].map(({0: match, index}) => {
      const around = text.slice(Math.max(0, index - 30), index + 40)
      return {
        area: areaOf(file),
        kind,
        text: `${file}: "${match}" in "...${around}...": better ${better}`,
      }
    }),
  )
}

/** Strings of prose: literals and templates, in which `…` stands for what is put in. */
function stringsOf(source: string): string[] {
  const strings: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) strings.push(node.text)
    if (ts.isTemplateExpression(node)) {
      strings.push(
        [node.head, ...node.templateSpans.map(span => span.literal)]
          .map(part => part.text)
          .join('…'),
      )
    }
    if (!ts.isImportDeclaration(node)) ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('file.ts', source, ts.ScriptTarget.Latest))
  return strings.filter(text => text.includes(' '))
}

/** Doc comments that stand above an export. */
function exportedComments(source: string): string[] {
  const comments = source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*export\b/g)
  return [...comments].map(comment => comment[1]!.replace(/^\s*\* ?/gm, ''))
}

const without = (text: string, ...patterns: RegExp[]) =>
  patterns.reduce((rest, pattern) => rest.replace(pattern, ' '), text)

function sourceHits(file: string): Hit[] {
  const source = readFileSync(join(root, file), 'utf8')
  const code = without(source, /\/\*[\s\S]*?\*\//g, /^\s*\/\/.*$/gm)
  const suspect = ANY.test(code) // parsing takes time
  return [
    ...(suspect ? stringsOf(source) : []).flatMap(text => hitsIn(file, 'texts', text)),
    ...exportedComments(source).flatMap(text => hitsIn(file, 'comments', text)),
  ]
}

function documentHits(file: string): Hit[] {
  const markdown = readFileSync(join(root, file), 'utf8')
  return hitsIn(file, 'texts', without(markdown, /^```[\s\S]*?^```/gm, /`[^`\n]*`/g))
}

function filesUnder(folder: string, ending: string): string[] {
  const paths = readdirSync(join(root, folder), {recursive: true, encoding: 'utf8'})
  return paths.filter(path => path.endsWith(ending)).map(path => `${folder}/${path}`)
}

/** The written pages: what `docs/reference` has is made from sources. */
const PAGES = filesUnder('docs', '.md').filter(path => !/reference|node_modules/.test(path))
const DOCUMENTS = ['README.md', 'CONTRIBUTING.md', ...PAGES]
const SOURCES = [...filesUnder('src', '.ts'), ...filesUnder('commands', '.ts')]

const hits = [...SOURCES.flatMap(sourceHits), ...DOCUMENTS.flatMap(documentHits)]

describe('English', () => {
  it.each([...new Set([...Object.keys(TODAY), ...hits.map(hit => hit.area)])].sort())(
    '%s has no more of the constructions that readers stumble over',
    area => {
      for (const kind of ['texts', 'comments'] as const) {
        const found = hits.filter(hit => hit.area === area && hit.kind === kind)
        const most = TODAY[area]?.[kind] ?? 0
        expect(found.length, found.map(hit => hit.text).join('\n')).toBeLessThanOrEqual(most)
      }
    },
  )

  it('finds them in strings, templates and comments of exports', () => {
    const source =
      '/** One of\n * which. */\nexport const a = `as $' + "{1} many`\nconst b = 'no one is no one'"
    expect(
      exportedComments(source).flatMap(text => hitsIn('src/a/b.ts', 'comments', text)),
    ).toHaveLength(1)
    expect(stringsOf(source)).toEqual(['as … many', 'no one is no one'])
    expect(stringsOf(source).flatMap(text => hitsIn('src/a/b.ts', 'texts', text))).toHaveLength(1)
  })
})
