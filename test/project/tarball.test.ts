/** What `npm run pack:release` puts into the package: all that is needed, and nothing else. */
import {readdirSync, readFileSync} from 'node:fs'
import {dirname, join} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {type Packed, pack} from '../helpers/packed.js'

const root = packageRoot()
const PACKAGE = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const {exports: doors, bin, dependencies} = PACKAGE
const {isOfKernels, kernelManifest, packedManifest} = await import(
  join(root, 'scripts', 'packed-manifest.js')
)

/** Every file of the package has its line here: one that nobody meant to ship fails the test. */
const MEANT = [
  /^(package\.json|README\.md|LICENSE|THIRD-PARTY-LICENSES\.md|CHANGELOG\.md|binding\.gyp|oclif\.manifest\.json)$/,
  /^bin\/(run|start)\.js$/,
  /^dist\/(gradients|src\/.+)\.(js|d\.ts)$|^dist\/(gradients|program\/parts\/[\w-]+)-LICENSE$|^dist\/program\/parts\/oclif-LICENSES$/,
  /^dist\/program\/.+\.js$/,
  /^dist\/page\/page\.(css|js)$/,
  /^docs\/(advice|ci|claims|compare|statistics|your-(model|estimator)|tun(ed|ing)|training|getting-started|reading-tables)\.md$/,
  /^docs\/(kernel-estimates|attention-outputs|faq|clusters|runs|inputs|benchmarks|backends)\.md$/,
  /^docs\/(library|python|performance|decisions)\.md$/,
  /^fixtures\/(manifest\.json|LICENSE-Apache-2\.0|NOTICE|(minilm|prose)\.txt|(charlm-tuned|(charlm|minilm)-layer\d)\.safetensors)$/,
  /^fixtures\/charlm\/((config|tokenizer|tokenizer_config)\.json|model\.safetensors|texts\.txt)$/,
  /^native\/((bindings|kernels|simd)\/)?[\w-]+\.(cc|h)$/,
  /^prebuilds\/(SHA256SUMS|linux-(x64|arm64)\/rfa\.glibc\.node)$/,
  /^python\/(rfa_(export|model|peers|plugin|supervisor)|torch_forms|transformers_(engine|inputs|timed)|rfa\/.+)\.py$/,
  /^schemas\/[\w-]+\.schema\.json$/,
  /^scripts\/((install-native|node-gyp|setup-tensorflow)|tensorflow\/[\w-]+)\.js$/,
]

let packed: Packed
let paths: string[]
beforeAll(() => {
  packed = pack('--dry-run')
  paths = packed.files.map(({path}) => path)
})

/** Files that are reached from some by their imports, these included. */
function reached(entries: readonly string[], suffix: string): Set<string> {
  const found = new Set(entries)
  for (const file of found) {
    const text = readFileSync(join(root, file), 'utf8')
    for (const [, path] of text.matchAll(/(?:from|import)\s*\(?\s*['"](\.[^'"]*)['"]/g)) {
      found.add(join(dirname(file), path!).replaceAll('\\', '/').replace(/\.js$/, suffix))
    }
  }
  return found
}

/** The files that `exports` of package.json names. */
function entries(kind: 'types' | 'default'): string[] {
  const modules = Object.values(doors).filter(door => typeof door === 'object')
  return (modules as Record<string, string>[]).map(door => door[kind]!.slice(2))
}

describe('the packed package', () => {
  it('names the licence of each package that is installed with it, and of what it holds of others', () => {
    expect(paths).toContain('THIRD-PARTY-LICENSES.md')
    const text = readFileSync(join(root, 'THIRD-PARTY-LICENSES.md'), 'utf8')
    const rows = [...text.matchAll(/^\| `([^`]+)` \| (\S+) \|$/gm)]
    const named = Object.fromEntries(rows.map(([, name = '', licence]) => [name, licence]))
    const licences = Object.keys(dependencies).map(name => {
      const file = join(root, 'node_modules', name, 'package.json')
      return [name, JSON.parse(readFileSync(file, 'utf8')).license]
    })
    expect(named).toEqual(Object.fromEntries(licences))
    expect(named['@resvg/resvg-wasm']).toBe('MPL-2.0')
    expect(named['@fontsource/source-sans-3']).toBe('OFL-1.1')
    const held = paths.filter(
      path => /(^|[-/])(LICENSE|NOTICE)(?!S)/.test(path) && path !== 'LICENSE',
    )
    for (const path of held) expect(text).toContain(path)
  })

  it('has every module that its doors lead to, with types', () => {
    for (const file of reached(entries('default'), '.js')) expect(paths).toContain(file)
    for (const file of reached(entries('types'), '.d.ts')) expect(paths).toContain(file)
  })

  it('has the program: what starts it, every command, schemas, an example to try', () => {
    const started = [bin.rfa, 'bin/start.js', 'oclif.manifest.json', 'scripts/install-native.js']
    const commands = readdirSync(join(root, 'dist', 'program', 'commands'))
    const whole = [
      ...started,
      ...commands.map(name => `dist/program/commands/${name}`),
      ...readdirSync(join(root, 'schemas')).map(name => `schemas/${name}`),
      'fixtures/charlm-layer0.safetensors',
    ]
    for (const file of whole) expect(paths).toContain(file)
    // the folder has files of the build before, too
    const program = JSON.parse(readFileSync(join(root, 'dist/program.json'), 'utf8')) as string[]
    const parts = program.map(name => `dist/program/${name}`)
    for (const file of reached(
      parts.filter(name => name.endsWith('.js')),
      '.js',
    )) {
      expect(paths).toContain(file)
    }
  })

  it('has a package.json of its own, and leaves that of the checkout as it is', () => {
    const [own, made] = [PACKAGE, packedManifest(PACKAGE)].map(
      manifest => `${JSON.stringify(manifest, null, 2)}\n`,
    )
    const size = packed.files.find(({path}) => path === 'package.json')?.size
    expect(size).toBe(Buffer.byteLength(made!))
    expect(readFileSync(join(root, 'package.json'), 'utf8')).toBe(own)
  })

  it('has what the addon is built from', () => {
    const all = readdirSync(join(root, 'native'), {recursive: true, encoding: 'utf8'})
    const sources = all.filter(
      name => /\.(cc|h)$/.test(name) && !/^(bench|build|test)[\\/]/.test(name),
    )
    expect(sources.length).toBeGreaterThan(40)
    for (const file of sources) expect(paths).toContain(`native/${file.replaceAll('\\', '/')}`)
    expect(paths).toContain('binding.gyp')
  })

  it('has nothing else', () => {
    expect(paths.filter(path => !MEANT.some(pattern => pattern.test(path)))).toEqual([])
  })

  it('has no module that nothing leads to', () => {
    const modules = paths.filter(path => path.startsWith('dist/src/'))
    const known = reached(entries('default'), '.js')
    const types = reached(entries('types'), '.d.ts')
    const folders = new Set([...known, ...types].map(file => dirname(file)))
    expect(modules.filter(file => !folders.has(dirname(file)))).toEqual([])
    const loose = modules.filter(file => dirname(file) === 'dist/src')
    const declared = (file: string) => known.has(file.replace(/\.d\.ts$/, '.js'))
    expect(loose.filter(file => !declared(file))).toEqual([])
  })

  it('imports in the library what the kernels by themselves depend on', () => {
    const files = [...reached(entries('default'), '.js')]
    const text = files.map(file => readFileSync(join(root, file), 'utf8')).join('\n')
    const used = Object.keys(dependencies).filter(
      name => text.includes(`from '${name}'`) || text.includes(`('${name}')`),
    )
    // what the addon is built with is no import
    expect([...used, 'node-addon-api'].sort()).toEqual(
      Object.keys(kernelManifest(PACKAGE).dependencies).sort(),
    )
    for (const file of files) expect(isOfKernels(file), file).toBe(true)
  })

  it('points to no source map', () => {
    const code = paths.filter(path => path.startsWith('dist/') && path.endsWith('.js'))
    const pointing = code.filter(path =>
      /^\/\/# sourceMappingURL=(?!data:)/m.test(readFileSync(join(root, path), 'utf8')),
    )
    expect(pointing).toEqual([])
  })

  it('is small: 9.0 MB packed, 14.7 MB unpacked, with 7.6 of examples; prebuilt addons add 2 and 4.2', () => {
    const isPrebuilt = ({path}: {path: string}) => path.startsWith('prebuilds/')
    const prebuilt = packed.files.filter(isPrebuilt).reduce((sum, {size}) => sum + size, 0)
    expect(prebuilt).toBeLessThan(4.2e6)
    expect(packed.unpackedSize - prebuilt).toBeLessThan(14.7e6)
    expect(packed.size).toBeLessThan(prebuilt > 0 ? 11e6 : 9e6)
    expect(packed.files.length).toBeLessThan(1220)
  })

  it('has what its README links to', () => {
    const text = readFileSync(join(root, 'README.md'), 'utf8')
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, to]) => to!)
    const [inside, outside] = [/^#/, /^https?:/].map(kind => links.filter(to => kind.test(to)))
    expect(links.length).toBeGreaterThan(0)
    const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) => title!)
    const anchors = headings.map(title => `#${title.toLowerCase().replace(/[^\w]+/g, '-')}`)
    for (const link of inside!) expect(anchors).toContain(link)
    for (const link of links) {
      if (inside!.includes(link) || outside!.includes(link)) continue
      expect(paths).toContain(link)
    }
  })
})
