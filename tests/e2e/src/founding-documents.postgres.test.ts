import { type TemporaryPostgres, temporaryPostgres } from '@countersign/testing';
import { afterAll, beforeAll } from 'vitest';
import { postgresDatabase } from '../../lab/src/test-database.ts';
import { describeFoundingDocuments } from './founding-documents/document-stories.ts';

let postgres: TemporaryPostgres;
beforeAll(async () => {
  postgres = await temporaryPostgres();
});
afterAll(() => postgres.stop());

describeFoundingDocuments('PostgreSQL', () => postgresDatabase(postgres));
