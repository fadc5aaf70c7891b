/** The site's pages: all of docs/ has a place, and what is generated says what the registries know. */
import {mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {pathToFileURL} from 'node:url'
import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, PROJECTION_NAMES} from '../../src/attention/names.js'
import {CLAIM_IDS} from '../../src/claims/claims/index.js'
import {packageRoot} from '../../src/package.js'
import {methodFacts} from '../../src/report/methods.js'
import {commandIds, loadCommand} from '../helpers/commands.js'
import {temporaryFolder} from '../helpers/folders.js'

const root = packageRoot()
const module = (path: string) => import(pathToFileURL(join(root, path)).href)

let pages: Record<string, string>
beforeAll(async () => {
  const {referencePages} = await module('scripts/docs/reference.js')
  pages = await referencePages(root)
})

/** The text under a heading, up to the next one of its level. */
function section(page: string, title: string): string {
  return page.split(/^## /m).find(part => part.startsWith(title)) ?? ''
}

/** Commands with what follows them, in blocks and in prose. */
function typedLines(text: string): [id: string, words: string][] {
  const blocks = [...text.matchAll(/^```(?:sh|console|bash)\n([\s\S]*?)^```$/gm)]
  const lines = blocks.flatMap(([, block]) => block!.replaceAll('\\\n', ' ').split('\n'))
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '')
  const spans = [...prose.matchAll(/`([^`]+)`/g)].map(([, span]) => span!.replaceAll(/\s+/g, ' '))
  return [...lines, ...spans].flatMap(line =>
    line
      .replace(/\s# .*/, '')
      .split(/\||&&|;/)
      .flatMap(part => {
        const [, id, words] = /\brfa ([a-z-]+)\b(.*)$/.exec(part) ?? []
        return id && commandIds.includes(id) ? [[id, words!] as [string, string]] : []
      }),
  )
}

/** As it reads without Markdown's escapes. */
const plain = (text: string) => text.replaceAll(/\\([^a-zA-Z0-9\s])/g, '$1')

it('every page of docs/ is in the sidebar, once', async () => {
  const {SECTIONS} = await module('docs/.vitepress/sections.js')
  const listed: string[] = SECTIONS.flatMap(({pages: own}: {pages: string[][]}) =>
    own.map(([path]) => path),
  )
  const files = readdirSync(join(root, 'docs')).filter(name => name.endsWith('.md'))
  expect(new Set(listed).size).toBe(listed.length)
  expect(
    listed
      .filter(path => !path.includes('/'))
      .map(path => `${path}.md`)
      .sort(),
  ).toEqual(files.filter(name => name !== 'index.md').sort())
})

it.each([...readdirSync(join(root, 'docs')).filter(name => name.endsWith('.md')), '../README.md'])(
  '%s shows no flag that its command lacks',
  async page => {
    const text = readFileSync(join(root, 'docs', page), 'utf8')
    const strange: string[] = []
    for (const [id, words] of typedLines(text)) {
      const command = await loadCommand(id)
      const known = {...command.baseFlags, ...command.flags}
      const switches = Object.entries(known).flatMap(([name, flag]) => [
        ...[name, ...(flag.aliases ?? [])].map(one => `--${one}`),
        ...('allowNo' in flag && flag.allowNo ? [`--no-${name}`] : []),
      ])
      const also = ['--help', '--version', ...(command.enableJsonFlag ? ['--json'] : [])]
      const typed = words.match(/(?<=^|\s)--[a-z][\w-]*/g) ?? []
      strange.push(
        ...typed
          .filter(flag => ![...switches, ...also].includes(flag))
          .map(flag => `${id} ${flag}`),
      )
    }
    expect(strange).toEqual([])
  },
)

describe('the page of methods', () => {
  it('has formula, source and every option with its default, of each in the registry', async () => {
    const estimators = Object.values(await loadEstimators())
    expect(estimators.length).toBeGreaterThan(20)
    for (const estimator of estimators) {
      const facts = methodFacts(estimator, {numFeatures: 256, headDim: 64}, undefined)
      const text = plain(section(pages.methods!, `${facts.name}: `))
      for (const said of [facts.formula, facts.citation, facts.advice]) expect(text).toContain(said)
      for (const option of facts.options) {
        expect(text).toContain(`| ${option.name} | ${String(option.default)} |`)
      }
    }
  })
})

it('the page of projections has each of them', () => {
  for (const name of PROJECTION_NAMES) expect(section(pages.projections!, `${name}: `)).not.toBe('')
})

it('the page of schemas has each file of schemas/', () => {
  for (const name of readdirSync(join(root, 'schemas'))) {
    expect(section(pages.schemas!, name)).toMatch(/^\| \w+/m)
  }
})

describe('the pages of commands', () => {
  it.each(commandIds)('have every flag of %s, each once', async id => {
    const {flags} = await loadCommand(id)
    const anchors = [...pages[`commands/${id}`]!.matchAll(/^### .* \{#(.*)\}$/gm)].map(
      ([, to]) => to,
    )
    const shown = Object.entries(flags ?? {}).flatMap(([name, {hidden}]) => (hidden ? [] : [name]))
    expect(anchors.toSorted()).toEqual([...shown, 'json', 'quiet'].toSorted())
    for (const name of anchors) {
      expect(pages['commands/index']).toContain(`[${id}](${id}.md#${name})`)
    }
  })

  it('have a place in the sidebar, in the order of help', async () => {
    const {SECTIONS} = await module('docs/.vitepress/sections.js')
    const {COMMAND_GROUPS} = await module('dist/src/cli/program/command-groups.js')
    const section = SECTIONS.find(({text}: {text: string}) => text === 'Commands')
    const ids = COMMAND_GROUPS.flatMap(({commands}: {commands: string[][]}) =>
      commands.map(([id]) => `rfa ${id}`),
    )
    expect(section.pages.slice(1).map(([, title]: string[]) => title)).toEqual(ids)
  })
})

it('the home page leads to a model, a feature map and the papers', () => {
  const home = readFileSync(join(root, 'docs', 'index.md'), 'utf8')
  const links = [...home.matchAll(/^ {4}link: \/(.*)$/gm)].map(([, path]) => path)
  expect(links).toEqual(['your-model', 'your-estimator', 'claims'])
  expect(home).toContain(`${CLAIM_IDS.length} claims`)
})

describe('links to places on pages', () => {
  const folder = temporaryFolder()

  it('are found where they lead nowhere', async () => {
    const {brokenAnchors} = await module('scripts/docs/anchors.js')
    mkdirSync(join(folder, 'sub'))
    const links = (...paths: string[]) => paths.map(path => `<a href="${path}">`).join('')
    const there = links('/base/sub/#b', 'index.html#a', 'https://elsewhere.org/#c', '/base/none#d')
    writeFileSync(join(folder, 'index.html'), `<p id="a">${there}`)
    writeFileSync(join(folder, 'sub/index.html'), `<p id="b">${links('#a', '../#a', '/base/#z')}`)
    expect(brokenAnchors(folder, '/base/')).toEqual([
      'sub/index.html -> sub/index.html#a',
      'sub/index.html -> index.html#z',
    ])
  })
})
