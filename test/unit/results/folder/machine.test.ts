import {execFileSync} from 'node:child_process'
import {mkdir, writeFile} from 'node:fs/promises'
import {availableParallelism} from 'node:os'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {packageRoot, packageVersion} from '../../../../src/package.js'
import {commitOf, machineFacts} from '../../../../src/results/folder/machine.js'
import {machine} from '../../../../src/results/folder/manifest.js'
import {newFolder} from '../../../helpers/folders.js'

/** A repository with one commit. */
async function repository() {
  const folder = await newFolder()
  await writeFile(join(folder, 'file'), 'text')
  for (const args of [
    ['init', '-q'],
    ['add', '.'],
    ['commit', '-q', '-m', 'first'],
  ])
    git(folder, args)
  return folder
}

function git(cwd: string, args: string[]) {
  const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org']
  return execFileSync('git', [...author, ...args], {cwd, encoding: 'utf8'}).trim()
}

describe('machineFacts', () => {
  it('fit the schema of the manifest', async () => {
    const facts = await machineFacts({timed: true})
    expect(machine.parse(facts)).toEqual(facts)
    expect(facts).toMatchObject({
      node: process.versions.node,
      rfa: packageVersion(),
      available_parallelism: availableParallelism(),
      tfjs: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    })
  })

  it('have the peak of the processor only where there are times to hold against it', async () => {
    expect(await machineFacts({timed: false})).not.toHaveProperty('fma_peak_gflops')
    expect(await machineFacts({timed: true})).toHaveProperty('fma_peak_gflops')
  })
})

describe('commitOf', () => {
  it('is the short hash of a clean checkout', async () => {
    const folder = await repository()
    expect(await commitOf(folder)).toBe(git(folder, ['rev-parse', '--short', 'HEAD']))
  })

  it('has a plus for changed files and for new ones', async () => {
    const folder = await repository()
    const hash = git(folder, ['rev-parse', '--short', 'HEAD'])
    await writeFile(join(folder, 'new'), 'text')
    expect(await commitOf(folder)).toBe(`${hash}+`)
    git(folder, ['clean', '-qfd'])
    await writeFile(join(folder, 'file'), 'changed')
    expect(await commitOf(folder)).toBe(`${hash}+`)
  })

  it('is null for a folder inside the repository of another project', async () => {
    const folder = await repository()
    await mkdir(join(folder, 'node_modules', 'rfa'), {recursive: true})
    expect(await commitOf(join(folder, 'node_modules', 'rfa'))).toBeNull()
  })

  it('is null outside a repository, before its first commit, and for no folder', async () => {
    const folder = await newFolder()
    expect(await commitOf(folder)).toBeNull()
    git(folder, ['init', '-q'])
    expect(await commitOf(folder)).toBeNull()
    expect(await commitOf(join(folder, 'missing'))).toBeNull()
  })

  it('does not mistake the repository of a running hook for its own', async () => {
    const [own, other] = [await repository(), await repository()]
    process.env.GIT_DIR = join(other, '.git')
    try {
      expect(await commitOf(own)).toBe(
        git(own, ['--git-dir', '.git', 'rev-parse', '--short', 'HEAD']),
      )
    } finally {
      delete process.env.GIT_DIR
    }
  })
})

describe('packageRoot', () => {
  it('is the folder of package.json', async () => {
    const {default: facts} = await import('../../../../package.json', {with: {type: 'json'}})
    expect(join(packageRoot(), 'test')).toBe(join(import.meta.dirname, '..', '..', '..'))
    expect(packageVersion()).toBe(facts.version)
  })
})
