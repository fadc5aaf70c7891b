/** The built loader in processes of its own: what it loads stays loaded. */
import {createHash} from 'node:crypto'
import {existsSync, realpathSync, symlinkSync} from 'node:fs'
import {join} from 'node:path'
import {pathToFileURL} from 'node:url'
import {beforeAll, describe, expect, it} from 'vitest'
import {type PluginRecord, pluginDigest} from '../../../src/plugins/record.js'
import {temporaryFolder} from '../../helpers/folders.js'
import {type Loaded, loadAll, reluMap, writeFiles} from '../../helpers/plugins.js'

const folder = realpathSync(temporaryFolder())
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

const IMPORTED = "import {half} from './parts/half.js'\nexport const third = half / 1.5\n"

/** Plug-ins with what is expected of them: nothing, or how they are refused. Default code: BAD_PLUGIN */
const CASES: Record<string, {text: string; code?: string; message?: RegExp; remedy?: RegExp}> = {
  'plain.js': {text: reluMap('plain')},
  'module.mjs': {text: reluMap('module')},
  'several.js': {
    text: `${reluMap('one').replace('export default', 'const one =')}
      export const estimators = [one, {...one, name: 'two'}]`,
  },
  'importing.js': {
    text: reluMap('importing', '', "import {third} from './third.js'\nexport const used = third"),
  },
  'requiring.js': {text: reluMap('requiring', '', "import './common/first.cjs'")},
  'facts.js': {
    text: reluMap('facts').replace('export default defineFeatureMap(', 'export default ('),
  },
  'own-packages.js': {
    text: reluMap('own-packages').replace(
      "import {defineFeatureMap, guardOptions, tf, z} from 'rfa/attention'",
      "import * as tf from '@tensorflow/tfjs-core'\nimport {z} from 'zod'\nimport {defineFeatureMap, guardOptions} from 'rfa'",
    ),
  },
  'syntax.js': {
    text: 'import {z} from "rfa/attention"\n\nexport default = z\n',
    message:
      /^\.\/syntax\.js: expected JavaScript that Node can read, got SyntaxError: .* \(.*syntax\.js:3\)$/,
  },
  'imports-syntax.js': {
    text: "import './broken.js'\n",
    message: /got SyntaxError: .* \(.*broken\.js:2\)$/,
  },
  'no-such-name.js': {
    text: "import {defineFeature} from 'rfa/attention'\nexport default defineFeature\n",
    message: /does not provide an export named 'defineFeature'.*no-such-name\.js:1\)$/s,
  },
  'no-such-package.js': {
    text: "import 'no-such-package'\n",
    message: /expected imports that can be found, got Cannot find package 'no-such-package'/,
    remedy: /npm install/,
  },
  'endless.js': {
    text: 'await new Promise(() => {})\nexport default 1\n',
    code: 'PLUGIN_FAILED',
    message:
      /^\.\/endless\.js: expected a module that can be loaded, got one that waits for something that never comes/,
    remedy: /top-level await/,
  },
  'no-such-file.js': {
    text: "import './helpers'\n",
    message: /expected imports that can be found, got Cannot find module/,
    remedy: /with their endings/,
  },
  'nothing.js': {text: 'const nothing = 1\n', message: /./},
  'named-only.mjs': {
    text: 'export const myMap = 1\n',
    message: /exports: expected a default export, an estimator, got exports myMap/,
    remedy: /export default defineFeatureMap/,
  },
  'empty-list.mjs': {
    text: 'export const estimators = []\n',
    message: /estimators: expected a list of estimators, got an empty one/,
  },
  'throws.mjs': {
    text: '\nconst x = undefined\nexport default x.y\n',
    code: 'PLUGIN_FAILED',
    message: /throws\.mjs: threw TypeError: .* while it was loaded \(.*throws\.mjs:3:\d+\)$/,
  },
  'math.mjs': {
    text: `Math.exp = () => 1\n${reluMap('math')}`,
    code: 'PLUGIN_FAILED',
    message: /threw TypeError: Cannot assign to read only property 'exp' of object '#<Object>'/,
  },
  'promise.mjs': {
    text: 'export default Promise.resolve(1)\n',
    message: /expected an estimator, got a promise of one/,
    remedy: /export default await/,
  },
  'number.mjs': {text: 'export default 7\n', message: /got 7/},
  'no-phi.mjs': {
    text: reluMap('no-phi', 'phi: undefined,'),
    message: /no-phi: phi: expected a function.*\(.*no-phi\.mjs:\d+:\d+\)$/,
  },
  'taken.mjs': {text: reluMap('elu'), message: /a built-in one/},
  'again.mjs': {
    text: reluMap('plain'),
    message:
      /plain: expected a name that no other estimator has, got the name of one of \.\/plain\.js/,
  },
  'common.cjs': {
    text: 'module.exports = {}\n',
    message: /expected an ES module, with import and export, got a CommonJS file/,
    remedy: /rename it to common\.mjs/,
  },
  'common.cts': {text: '', message: /got a CommonJS file \(it ends in \.cts\)/},
  'common/exports.js': {
    text: 'module.exports = {name: "x"}\n',
    message: /got a CommonJS file/,
  },
  'common/module.js': {
    text: 'export default 1\n',
    message: /got a CommonJS file/,
    remedy: /"type": "module"/,
  },
  'data.json': {
    text: '{}',
    message: /a module ending in .* got one ending in \.json/,
  },
  parts: {text: '', message: /expected the file of a plug-in, got a folder/},
  'missing.js': {
    text: '',
    code: 'FILE_MISSING',
    message: /^\.\/missing\.js: expected a plug-in, an ES module, got no such file/,
    remedy: /relative to this folder it is \//,
  },
}

const found = new Map<string, Loaded>()
beforeAll(() => {
  const texts = Object.entries(CASES).map(([path, {text}]) => [path, text])
  writeFiles(folder, {
    ...Object.fromEntries(texts.filter(([path]) => path !== 'parts' && path !== 'missing.js')),
    'package.json': '{"type": "module"}',
    'third.js': IMPORTED,
    'parts/half.js': 'export const half = 0.5\n',
    'broken.js': '\nexport const = 1\n',
    'common/package.json': '{"type": "commonjs"}',
    'common/first.cjs': "require('./second.cjs')\n",
    'common/second.cjs': 'module.exports = 2\n',
  })
  const paths = Object.keys(CASES)
  const results = loadAll(
    folder,
    paths.map(path => `./${path}`),
  )
  for (const [index, path] of paths.entries()) found.set(path, results[index]!)
})

describe('a plug-in', () => {
  const [good, bad] = [true, false].map(fine =>
    Object.keys(CASES).filter(path => (CASES[path]!.message === undefined) === fine),
  ) as [string[], string[]]

  it.each(good)('%s is loaded', path => {
    const text = CASES[path]!.text
    expect(found.get(path)).toMatchObject({
      record: {path: join(folder, path), sha256: sha256(text)},
    })
  })

  it.each(bad)('%s is refused', path => {
    const {code = 'BAD_PLUGIN', message = /./, remedy = /(?:)/} = CASES[path]!
    const {suggestions = [], ...told} = found.get(path)!
    expect(told).toMatchObject({code, message: expect.stringMatching(message)})
    expect(suggestions.join('\n')).toMatch(remedy)
  })

  it('is known by its bytes and those of the files that it imports', () => {
    const {record} = found.get('importing.js')!
    const half = sha256('export const half = 0.5\n')
    expect(record!.imports).toEqual([
      {path: 'parts/half.js', sha256: half},
      {path: 'third.js', sha256: sha256(IMPORTED)},
    ])
    const lines = [
      record!.sha256,
      '  .\n',
      half,
      '  parts/half.js\n',
      sha256(IMPORTED),
      '  third.js\n',
    ]
    expect(pluginDigest(record!)).toBe(sha256(lines.join('')))
    const required = found.get('requiring.js')!.record!.imports.map(({path}) => path)
    expect(required).toEqual(['common/first.cjs', 'common/second.cjs'])
    const plain = found.get('plain.js')!.record!
    expect(plain.imports).toEqual([])
    expect(pluginDigest(plain)).toBe(plain.sha256)
  })

  it('is known by the files of its package where it stands in one, not by those of other packages', () => {
    const other = 'node_modules/of-others/index.js'
    writeFiles(folder, {
      'packed/node_modules/map/package.json': JSON.stringify({name: 'map', type: 'module'}),
      'packed/node_modules/map/index.js': reluMap(
        'packed',
        '',
        "import './part.js'\nimport 'of-others'",
      ),
      'packed/node_modules/map/part.js': 'export {}\n',
      [`packed/${other}`]: 'export {}\n',
      'packed/node_modules/of-others/package.json': JSON.stringify({
        ...{name: 'of-others', type: 'module', exports: './index.js'},
      }),
    })
    const [{record}] = loadAll(folder, ['packed/node_modules/map/index.js']) as [Loaded]
    expect(record!.imports).toEqual([{path: 'part.js', sha256: sha256('export {}\n')}])
  })

  it('is known by the same digest in a folder of another name', () => {
    const files = (name: string) => ({
      [`at-${name}/${name}/own.mjs`]: reluMap('own', '', "import './x.mjs'\nimport '../m.mjs'"),
      [`at-${name}/${name}/x.mjs`]: 'export {}\n',
      [`at-${name}/m.mjs`]: 'export {}\n\n',
    })
    const digests = ['aa', 'zz'].map(name => {
      writeFiles(folder, files(name))
      const [{record}] = loadAll(folder, [`at-${name}/${name}/own.mjs`]) as [Loaded]
      expect(record!.imports.map(({path}) => path)).toEqual(['../m.mjs', 'x.mjs'])
      return pluginDigest(record!)
    })
    expect(digests[1]).toBe(digests[0])
  })

  it.each([
    ['built in', 'elu', /elu: expected a name .* got elu, a built-in one/],
    ['its own', 'free', /free: expected a name .* got two of them/],
    ['its own but for capitals', 'Free', /Free: expected a name .* got two of them/],
  ])('brings none of its estimators where the name of one is %s', (_, second, message) => {
    const both = reluMap('free').replace('export default', 'const first =')
    writeFiles(folder, {
      'both.mjs': `${both}\nexport const estimators = [first, {...first, name: '${second}'}]\n`,
      'free.mjs': reluMap('free'),
    })
    const [refused, fine] = loadAll(folder, ['both.mjs', 'free.mjs'])
    expect(refused).toMatchObject({code: 'BAD_PLUGIN', message: expect.stringMatching(message)})
    expect(fine).toHaveProperty('record.methods', ['free'])
  })

  it('is one module however it is named', () => {
    writeFiles(folder, {'same.js': reluMap('same')})
    symlinkSync(join(folder, 'same.js'), join(folder, 'link.js'))
    const [first, second] = loadAll(folder, [
      'same.js',
      `${folder}/../${folder.split('/').at(-1)}/link.js`,
    ])
    expect(second).toEqual(first)
  })
})

describe('a plug-in that is to be what was recorded', () => {
  const mark = (name: string) =>
    `import {writeFileSync} from 'node:fs'\nwriteFileSync('${name}-imported', '')\n`
  const harmless = 'export {}\n'

  it('imports no file besides, and no other content, be it changed after the first look', () => {
    const swaps = (part: string) =>
      `import {writeFileSync} from 'node:fs'\nwriteFileSync('${part}.mjs', ${JSON.stringify(mark(part))})\nawait import('./${part}.mjs')\n`
    const modules = {
      besides: "import './other.mjs'\n",
      swapped: swaps('swap'),
      linked:
        "import {rmSync, symlinkSync} from 'node:fs'\nrmSync('link.mjs')\nsymlinkSync('other.mjs', 'link.mjs')\nawait import('./link.mjs')\n",
      mapped: "import '#part'\n",
      spelled: `import 'data:text/javascript,import "${pathToFileURL(join(folder, 'other.mjs'))}"'\n`,
    }
    writeFiles(folder, {
      ...Object.fromEntries(
        Object.entries(modules).map(([name, text]) => [`pin/${name}.mjs`, text]),
      ),
      'pin/package.json': JSON.stringify({type: 'module', imports: {'#part': './other.mjs'}}),
      'pin/other.mjs': mark('other'),
      'other.mjs': mark('other'),
      ...Object.fromEntries(['pin/swap.mjs', 'pin/link.mjs'].map(path => [path, harmless])),
    })
    const imports = {swapped: ['swap.mjs'], linked: ['link.mjs']} as Record<string, string[]>
    const wanted = Object.entries(modules).map(([name, text]) => {
      const files = (imports[name] ?? []).map(path => ({path, sha256: sha256(harmless)}))
      const path = join(folder, 'pin', `${name}.mjs`)
      const record = {path, sha256: sha256(text), imports: files, methods: [name]}
      return [path, record] as const
    })
    const refused = loadAll(join(folder, 'pin'), wanted)
    expect(
      refused.map(({code, message}) => [code, message?.match(/with another (.*)$/)?.[1]]),
    ).toEqual([
      ['FILE_CHANGED', 'other.mjs'],
      ['FILE_CHANGED', 'swap.mjs'],
      ['FILE_CHANGED', 'other.mjs'],
      ['FILE_CHANGED', 'other.mjs'],
      ['FILE_CHANGED', '../other.mjs'],
    ])
    for (const name of ['other', 'swap']) {
      expect(existsSync(join(folder, 'pin', `${name}-imported`))).toBe(false)
    }
  })

  it('is loaded where it is', () => {
    const {path, sha256: digest} = found.get('importing.js')!.record!
    const record = found.get('importing.js')!.record as PluginRecord
    const other = {...record, sha256: sha256('other')}
    const [another, same] = loadAll(folder, [
      [path, other],
      [path, record],
    ])
    expect(another).toMatchObject({code: 'FILE_CHANGED'})
    expect(same).toHaveProperty('record.sha256', digest)
  })
})

describe('the modules that a plug-in imports', () => {
  it.each(['rfa', 'rfa/attention'])('as %s are those that run, though it has others', name => {
    const other = `throw new Error('the other one')`
    const project = `project-${name.length}`
    writeFiles(folder, {
      [`${project}/node_modules/rfa/package.json`]: JSON.stringify({
        name: 'rfa',
        exports: {'.': './other.js', './attention': './other.js'},
      }),
      [`${project}/node_modules/rfa/other.js`]: other,
      [`${project}/mine.mjs`]: reluMap('mine').replace("'rfa/attention'", `'${name}'`),
    })
    expect(loadAll(folder, [`${project}/mine.mjs`])[0]).toHaveProperty('record')
  })

  it.each(['zod', '@tensorflow/tfjs-core'])('as %s are its own where it has some', name => {
    const project = `own-${name.length}`
    writeFiles(folder, {
      [`${project}/node_modules/${name}/package.json`]: JSON.stringify({name, main: 'own.cjs'}),
      [`${project}/node_modules/${name}/own.cjs`]: "module.exports = {which: 'its own'}",
      [`${project}/mine.mjs`]: `import own from '${name}'\nthrow new Error(own.which)\n`,
    })
    expect(loadAll(folder, [`${project}/mine.mjs`])[0]).toMatchObject({
      message: expect.stringContaining('threw its own'),
    })
  })
})
