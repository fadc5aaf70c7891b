import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {expect, it} from 'vitest'
import {pinnedVersion} from '../../../bench/peers/environment.js'
import {packageRoot} from '../../../src/package.js'

it('finds the version that a peer from source is pinned to', () => {
  const file = join(packageRoot(), 'bench', 'peers', 'requirements-source.txt')
  const name = 'pytorch-fast-transformers'
  expect(pinnedVersion(readFileSync(file, 'utf8'), name)).toMatch(/^\d+\.\d+\.\d+$/)
  expect(pinnedVersion(`# ${name}==1\n${name}==2.0\n`, name)).toBe('2.0')
  expect(pinnedVersion('torch==2.15.0\n', name)).toBeUndefined()
})
