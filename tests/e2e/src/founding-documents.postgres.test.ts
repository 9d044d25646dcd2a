import { type TemporaryPostgres, temporaryPostgres } from '@countersign/testing';
import { afterAll, beforeAll } from 'vitest';
import { describeFoundingDocuments } from './founding-documents/document-stories.ts';
import { postgresDatabase } from './test-database.ts';

let postgres: TemporaryPostgres;
beforeAll(async () => {
  postgres = await temporaryPostgres();
});
afterAll(() => postgres.stop());

describeFoundingDocuments('PostgreSQL', () => postgresDatabase(postgres));
