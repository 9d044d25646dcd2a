import { describeFoundingDocuments } from './founding-documents/document-stories.ts';
import { sqliteDatabase } from './test-database.ts';

describeFoundingDocuments('SQLite', async () => sqliteDatabase());
