/** scripts/pack.js and scripts/packed-manifest.js: package.json of the file that others install. */
import {spawnSync} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'

const root = packageRoot()
const PACK = join(root, 'scripts', 'pack.js')
const {isOfKernels, kernelManifest, kernelReadme, packedManifest} = await import(
  join(root, 'scripts', 'packed-manifest.js')
)
const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const ENGINE = '@tensorflow/tfjs-node'

describe('the packed package.json', () => {
  it('has the engine as an optional peer, of the version that a checkout installs', () => {
    const {peerDependencies, peerDependenciesMeta, optionalDependencies} = packedManifest(own)
    expect(own.optionalDependencies).toHaveProperty([ENGINE])
    expect(peerDependencies).toEqual(own.optionalDependencies)
    expect(peerDependenciesMeta).toEqual({[ENGINE]: {optional: true}})
    expect(optionalDependencies).toBeUndefined()
  })

  it('has nothing else that is otherwise, but for what only a checkout needs', () => {
    const packed = packedManifest(own)
    const left = ['devDependencies', 'optionalDependencies', 'overrides', 'allowScripts', 'scripts']
    for (const [name, value] of Object.entries(own)) {
      if (!left.includes(name)) expect(packed[name], name).toEqual(value)
    }
    expect(packed.scripts).toEqual({install: own.scripts.install})
  })
})

describe('the kernels by themselves', () => {
  it('have the doors of the library and what it depends on, and nothing of the program', () => {
    const [packed, kernels] = [packedManifest(own), kernelManifest(own)]
    expect(kernels).toMatchObject({name: 'rfa-attention', version: own.version})
    for (const name of ['exports', 'engines', 'scripts', 'peerDependencies', 'types', 'gypfile']) {
      expect(kernels[name], name).toEqual(packed[name])
    }
    expect(kernels.bin ?? kernels.oclif).toBeUndefined()
    expect(Object.keys(kernels.dependencies)).toHaveLength(7)
    for (const [name, version] of Object.entries(kernels.dependencies)) {
      expect(own.dependencies[name]).toBe(version)
    }
    expect(kernels.files.filter((name: string) => !own.files.includes(name))).toEqual([])
    for (const file of ['bin/run.js', 'dist/program/src/a.js', 'docs/runs.md', 'README.md']) {
      expect(isOfKernels(file), file).toBe(false)
    }
    for (const file of ['dist/src/index.js', 'native/pool.cc', 'prebuilds/SHA256SUMS', 'LICENSE']) {
      expect(isOfKernels(file), file).toBe(true)
    }
  })

  it('have the page on the library as README, under their name and without links that lead nowhere', () => {
    const text: string = kernelReadme(readFileSync(join(root, 'docs', 'library.md'), 'utf8'))
    expect(text).toContain("import {attention, tf, useBackend} from 'rfa-attention'")
    expect(text).toContain("from 'rfa-attention/theory'")
    // an estimator has that name, too
    expect(text).toContain("method: 'rfa'")
    expect(text).not.toContain("method: 'rfa-attention'")
    expect(text).not.toMatch(/from 'rfa['/]|\]\(|nineteen/)
    expect(text).toMatch(/^# rfa-attention\n[^#]*\n## Forward\n/)
  })
})

describe('npm pack and npm publish of a checkout', () => {
  const prepack = (command: string) => {
    const env = {...process.env, npm_command: command}
    return spawnSync(process.execPath, [PACK, '--prepack'], {env, encoding: 'utf8'})
  }

  it.each(['pack', 'publish'])('npm %s is refused, naming the command to use', command => {
    const {status, stderr} = prepack(command)
    expect(status).toBe(1)
    expect(stderr).toContain('try: npm run pack (or pack:release')
    expect(own.scripts.prepack).toBe('node scripts/pack.js --prepack')
  })

  it('an installation from a repository is not', () => {
    expect(prepack('install')).toMatchObject({status: 0, stderr: ''})
  })
})
